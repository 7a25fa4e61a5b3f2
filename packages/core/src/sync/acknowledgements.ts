import { PULL_SOURCES_MAX, Refusal } from '@tidemark/protocol';
import { requireCount } from '../admission/require-count.ts';
import type { OwnDevice } from '../devices/clients.ts';
import type { DeviceCaller, DeviceSessions } from '../devices/device-sessions.ts';
import { emptyPage } from '../pages/build-page.ts';
import { type PullPosition, positionAt } from '../pages/pull-position.ts';
import type { Store } from '../ports/store.ts';
import type { Sources } from '../sources/sources.ts';
import type { LastSeenRecorder } from './last-seen-recorder.ts';

interface AcknowledgementsParts {
  readonly store: Store;
  readonly sessions: DeviceSessions;
  readonly sources: Sources;
  readonly lastSeen: LastSeenRecorder;
}

/** Takes the tokens that devices hold, outside of a pull. */
export class Acknowledgements {
  readonly #parts: AcknowledgementsParts;

  constructor(parts: AcknowledgementsParts) {
    this.#parts = parts;
  }

  /**
   * Records what the device holds, by source, as a pull with the same tokens would. A token that a pull would answer with
   * `reset` acknowledges nothing and is left out. Returns the sources whose token was accepted.
   */
  async acknowledge(device: DeviceCaller, tokens: ReadonlyMap<string, string>): Promise<readonly string[]> {
    const { sessions, lastSeen } = this.#parts;
    requireCount(tokens.size, PULL_SOURCES_MAX, 'sources');
    const own = await sessions.open(device);
    const found = await Promise.all(
      Array.from(tokens, ([source, token]) => this.#positionOf(device.user, own, source, token)),
    );
    const accepted = found.flatMap((position) => (position?.start.kind === 'continue' ? position : []));
    await lastSeen.record(device, own, accepted.map(emptyPage));
    return accepted.map(({ partition }) => partition.source);
  }

  /** Null: there is no such source. The backend is not asked which partition is the user's, a pull does that. */
  async #positionOf(user: string, own: OwnDevice, name: string, token: string): Promise<PullPosition | null> {
    const { store, sources } = this.#parts;
    try {
      const { partition } = await sources.memberships.knownPartitionOf(await sources.view(name), user);
      const restarts = own.restarts.get(name) ?? 0;
      return positionAt(await store.partition(partition), { partition, token, restarts });
    } catch (error) {
      if (error instanceof Refusal && error.code === 'source_not_found') return null;
      throw error;
    }
  }
}
