import { ClientError } from '@tidemark/client';
import { timeLimit } from './browser.ts';
import type { OpfsAnswers, OpfsCallName, OpfsCalls, OpfsResponse } from './opfs-messages.ts';

/** What this package uses of a `Worker`. */
export interface OpfsWorker {
  postMessage(message: unknown): void;
  addEventListener(type: 'message', listener: (event: { readonly data: OpfsResponse }) => void): void;
  addEventListener(type: 'error' | 'messageerror', listener: (event: { readonly message?: string }) => void): void;
  terminate(): void;
}

interface Waiting {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: ClientError) => void;
}

const IN_USE = 'another tab or window of this app has the database open: close it, and open this one again';

/** Calls to a worker. Each ends: by its answer, by its time limit, or because the worker has died. */
export class WorkerCalls {
  readonly #worker: OpfsWorker;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;
  /** Present when no call can be made any more. */
  #ended: ClientError | null = null;

  constructor(worker: OpfsWorker) {
    this.#worker = worker;
    worker.addEventListener('message', ({ data }) => this.#settle(data));
    for (const type of ['error', 'messageerror'] as const) {
      worker.addEventListener(type, ({ message = 'it gave no reason' }) => {
        this.end(
          new ClientError('store_failed', `the worker of the database has died: ${message}; load the page again`),
        );
      });
    }
  }

  /** A call that takes longer than `limitMs` ends the worker: nobody knows what it still does. */
  call<N extends OpfsCallName>(
    name: N,
    given: OpfsCalls[N],
    limit: { readonly ms: number; readonly advice: string },
  ): Promise<OpfsAnswers[N]> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      timeLimit(limit.ms).addEventListener('abort', () => {
        if (!this.#waiting.has(id)) return;
        const detail = `the worker of the database has not answered "${name}" within ${limit.ms} ms: ${limit.advice}`;
        this.end(new ClientError('store_failed', detail));
      });
      this.#worker.postMessage({ id, name, given });
    });
  }

  /** Ends the worker. Everything that waits rejects. */
  end(error: ClientError): void {
    if (this.#ended !== null) return;
    this.#ended = error;
    this.#worker.terminate();
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #settle(response: OpfsResponse): void {
    const waiting = this.#waiting.get(response.id);
    this.#waiting.delete(response.id);
    if ('answer' in response) waiting?.resolve(response.answer as never);
    else waiting?.reject(errorOf(response));
  }
}

/** Errors of SQLite keep their messages, by which the store knows them. */
function errorOf({ message, code }: { readonly message: string; readonly code?: string }): ClientError {
  if (code === 'store_in_use') return new ClientError(code, IN_USE);
  return new Error(message) as ClientError;
}
