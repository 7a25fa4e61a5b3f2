import type { StoreLifecycle } from '@tidemark/core/ports';
import { auditScopes } from './audit.ts';
import { resetStore } from './erase.ts';
import { UnusableServer, unavailable } from './failure.ts';
import { entryField } from './keys.ts';
import type { EngineContext } from './scope-access.ts';
import { textListOf } from './wire.ts';

/** Counts the calls of a store that are running, so that closing it can wait for them, and refuses calls after that. */
export class OpenCalls {
  readonly #running = new Set<Promise<unknown>>();
  #isOpen = true;

  get isOpen(): boolean {
    return this.#isOpen;
  }

  requireOpen(): void {
    if (!this.#isOpen) throw unavailable('it is closed');
  }

  async run<T>(call: () => Promise<T>): Promise<T> {
    this.requireOpen();
    const done = call();
    this.#running.add(done);
    try {
      return await done;
    } finally {
      this.#running.delete(done);
    }
  }

  /** Returns the same methods, each called through `run`. */
  wrap<T extends object>(methods: T): T {
    const wrapped = Object.entries(methods).map(([name, method]) => [
      name,
      (...args: readonly unknown[]) => this.run(() => method(...args)),
    ]);
    return Object.fromEntries(wrapped);
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await Promise.allSettled(this.#running);
  }
}

export interface Lifecycle extends Pick<StoreLifecycle, 'epoch' | 'reset' | 'backup' | 'memoryBytes'> {
  /** Finishes every erasure in progress, audits after a failover, and notices when the registry was lost. */
  sweep(): Promise<void>;
  /** Other connections to the same store; null when the server does not tell. */
  others(): Promise<number | null>;
}

export function lifecycle(context: EngineContext, calls: OpenCalls): Lifecycle {
  const { connection, layout, scopes } = context;
  return {
    epoch: () => scopes.epoch(),

    reset: (keep) => resetStore(context, keep.map(entryField)),

    /** Only the server itself can copy its data at one moment. */
    async backup(folder) {
      throw new UnusableServer(
        `a Valkey store is backed up with its server (BGSAVE, or a replica), not into ${folder}`,
      );
    },

    async sweep() {
      await scopes.epoch();
      await auditScopes(context, () => !calls.isOpen);
      await scopes.finishErasures(textListOf(await connection.command('HKEYS', layout.registryKey('erasures'))));
    },

    others: () => connection.others(),

    memoryBytes: () => connection.memoryBytes(),
  };
}

/**
 * Calls `sweep` again and again, so that an erasure is finished even if no other call needs it. A failed sweep is not
 * reported: the next one tries again. Returns the function that stops it.
 */
export function sweepEvery(everyMs: number, sweep: () => Promise<void>): () => void {
  let isSweeping = false;
  const timer = setInterval(async () => {
    if (isSweeping) return;
    isSweeping = true;
    await sweep().catch(() => undefined);
    isSweeping = false;
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
