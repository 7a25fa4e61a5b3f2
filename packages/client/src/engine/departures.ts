import { asClientError, type ClientError } from '../client-error.ts';
import { PAUSE_MS_MAX } from '../limits.ts';
import type { DeviceData } from './device-data.ts';
import type { LazyFiles } from './lazy-files.ts';
import type { LazyNetwork } from './lazy-network.ts';
import { revocationsIn } from './revocations.ts';
import type { Sessions } from './sessions.ts';

interface DepartureParts {
  readonly data: DeviceData;
  readonly sessions: Sessions;
  readonly network: LazyNetwork;
  readonly files: LazyFiles;
  readonly mayUseNetwork: () => boolean;
  /** Called when the data of the user is deleted. */
  readonly onLeft: () => void;
  /** Called when the session has ended and the data stays. */
  readonly onEnded: () => void;
  readonly onFailed: (error: ClientError) => void;
}

/** Ends sessions: signs out, erases the device, and tells the server about it. */
export class Departures {
  readonly #parts: DepartureParts;
  #isWiping = false;
  #isStopped = false;
  #cancelRevoking: () => void = () => undefined;

  constructor(parts: DepartureParts) {
    this.#parts = parts;
  }

  async signOut(discardUploads: boolean): Promise<void> {
    await this.#parts.sessions.signOut(discardUploads);
    this.#parts.onLeft();
    await this.revoke();
  }

  /** Erases everything because the server has ordered it, then confirms. If the store fails, the next call is refused again. */
  async wipe(): Promise<void> {
    const { sessions, onLeft, onFailed } = this.#parts;
    const session = sessions.current();
    if (session === null || this.#isWiping) return;
    this.#isWiping = true;
    try {
      await sessions.erase(session);
      onLeft();
      await this.revoke();
    } catch (error) {
      onFailed(asClientError(error, 'store_failed'));
    } finally {
      this.#isWiping = false;
    }
  }

  /** Stores the reason first, so that the status tells it as soon as it says that the user has to sign in. */
  async end(error: ClientError): Promise<void> {
    const { sessions, onEnded } = this.#parts;
    // If the store fails here, the next call notices the end of the session again.
    const isStored = await sessions.end(error).then(
      () => true,
      () => false,
    );
    // The user may have signed in again meanwhile.
    if (!isStored || sessions.current() === null) onEnded();
  }

  /**
   * Deletes files of a user who has left, then revokes ended sessions at the server, if there are any and there is a network: that
   * a device was erased is confirmed when nothing is left.
   */
  async revoke(): Promise<void> {
    const { data, network, files, mayUseNetwork } = this.#parts;
    this.#cancelRevoking();
    try {
      await files.clear();
      if (revocationsIn(data.replica.reader).length === 0 || !mayUseNetwork()) return;
      const { revoker } = await network.load();
      await revoker.flush();
    } catch {
      if (!this.#isStopped) this.#cancelRevoking = data.platform.after(PAUSE_MS_MAX, () => void this.revoke());
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelRevoking();
  }
}
