import { ClientError } from '../client-error.ts';
import { pauseMs } from '../transport/pause-ms.ts';
import { readAnything } from '../transport/read-answer.ts';
import { putRevocations, type Revocation, type RevokerParts, revocationsIn } from './revocations.ts';

/** Revokes the tokens of ended sessions, and confirms wipes, as soon as there is a network. */
export class Revoker {
  readonly #parts: RevokerParts;
  #sending: Promise<void> | null = null;
  #failures = 0;
  #isStopped = false;
  #cancelRetry: () => void = () => undefined;

  constructor(parts: RevokerParts) {
    this.#parts = parts;
  }

  /** Resolves when everything is sent, or something could not be sent now and is tried again later. */
  flush(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelRetry();
  }

  async #sendAll(): Promise<void> {
    const { platform, replica, mayUseNetwork } = this.#parts;
    this.#cancelRetry();
    for (let [next] = revocationsIn(replica.reader); next !== undefined; [next] = revocationsIn(replica.reader)) {
      if (this.#isStopped || !mayUseNetwork()) return;
      try {
        await this.#send(next);
        await this.#forget(next.token);
        this.#failures = 0;
      } catch (error) {
        if (this.#isStopped) return;
        const retryAfterMs = error instanceof ClientError ? error.retryAfterMs : null;
        this.#cancelRetry = platform.after(pauseMs(platform, ++this.#failures, retryAfterMs), () => void this.flush());
        return;
      }
    }
  }

  async #send({ token, clientId, unsentUploads, isWiped }: Revocation): Promise<void> {
    const confirm = () =>
      this.#ask(token, {
        method: 'POST',
        path: `/clients/${encodeURIComponent(clientId)}/wiped`,
        body: { unsent_uploads: unsentUploads },
      });
    if (isWiped) await confirm();
    else if ((await this.#ask(token, { method: 'DELETE', path: '/token' })) === 'client_wiped') await confirm();
  }

  /** Returns the code of a refusal, which would come again; null: the call has succeeded. */
  async #ask(
    token: string,
    call: { readonly method: 'POST' | 'DELETE'; readonly path: string; readonly body?: unknown },
  ): Promise<string | null> {
    try {
      await this.#parts.wire.ask({ ...call, token, read: readAnything, signal: new AbortController().signal });
      return null;
    } catch (error) {
      const { status = null, code = '' } = error instanceof ClientError ? error : {};
      if (status !== null && status >= 400 && status < 500 && !TRY_AGAIN.has(status)) return code;
      throw error;
    }
  }

  async #forget(token: string): Promise<void> {
    await this.#parts.replica.transact(
      (tx) =>
        putRevocations(
          tx,
          revocationsIn(tx).filter((other) => other.token !== token),
        ),
      { scrubs: true },
    );
  }
}

const TRY_AGAIN: ReadonlySet<number> = new Set([408, 425, 429]);
