import { ClientError, type FileDirectory, type LocalStore } from '@tidemark/client';
import { openHealingStore } from '../healing-store.ts';
import type { SqliteDamage } from '../replace-database.ts';
import type { SqliteDriver } from '../sqlite-driver.ts';
import { type OpfsWorker, WorkerCalls } from './worker-calls.ts';

declare const URL: new (path: string, base: string) => object;
declare const Worker: new (url: object, options: { readonly type: 'module' }) => OpfsWorker;

export interface OpfsStoreOptions {
  /** One for each device of the origin. Default: `tidemark`. */
  readonly name?: string;
  /** Where the bytes of files are stored. Absent: the device keeps no files. */
  readonly files?: FileDirectory;
  /** Called before another database takes the place of a damaged one, as in `openHealingSqliteStore`. */
  readonly onDamaged?: (damage: SqliteDamage) => Promise<void> | void;
  /** Starts the worker where the bundler does not find it by itself: `() => new MyWorker()`. */
  readonly worker?: () => OpfsWorker;
  /** How long opening waits for another tab to close the database, in milliseconds. Default: 3 seconds. */
  readonly inUseWaitMs?: number;
  /** How long a call may take, in milliseconds. Default: a minute. */
  readonly callMsMax?: number;
}

const IN_USE_WAIT_MS = 3_000;
const CALL_MS_MAX = 60_000;
/** The worker, its WebAssembly and the files of the pool. */
const START_MS_MAX = 60_000;
const START_ADVICE =
  'see whether the files of the worker and of SQLite are served (network tab), close other tabs of this app, and load the page again';
const CALL_ADVICE = 'load the page again; what was stored before is still there';

/**
 * Opens a store in the origin private file system of the browser, by `@sqlite.org/sqlite-wasm` in a worker of its own, so that the page is
 * never held. One tab at a time has it: another one is refused with `store_in_use`.
 */
export async function openOpfsStore(options: OpfsStoreOptions = {}): Promise<LocalStore> {
  const { name = 'tidemark', files, onDamaged, inUseWaitMs = IN_USE_WAIT_MS, callMsMax = CALL_MS_MAX } = options;
  const calls = new WorkerCalls(options.worker?.() ?? startWorker());
  const limit = { ms: callMsMax, advice: CALL_ADVICE };
  const ended = () => calls.end(new ClientError('closed', 'the store is closed'));
  try {
    await calls.call(
      'start',
      { pool: name, waitMs: inUseWaitMs },
      { ms: START_MS_MAX + inUseWaitMs, advice: START_ADVICE },
    );
    const databases = {
      name: `${name}.db`,
      list: () => calls.call('list', {}, limit),
      open: async (file: string) => driver(calls, await calls.call('open', { name: file }, limit), limit),
    };
    const own = { ...(files === undefined ? {} : { files }), ...(onDamaged === undefined ? {} : { onDamaged }) };
    const store = await openHealingStore(databases, own);
    const close = store.close.bind(store);
    return Object.assign(store, { close: () => close().finally(ended) });
  } catch (error) {
    ended();
    throw error instanceof ClientError ? error : new ClientError('store_failed', failure(error), { cause: error });
  }
}

/** Bundlers look for exactly this. */
function startWorker(): OpfsWorker {
  return new Worker(new URL('./worker.js', (import.meta as unknown as { readonly url: string }).url), {
    type: 'module',
  });
}

function driver(
  calls: WorkerCalls,
  database: number,
  limit: { readonly ms: number; readonly advice: string },
): SqliteDriver {
  return {
    execute: (statements) => calls.call('execute', { database, statements }, limit),
    run: (statement, values) => calls.call('run', { database, statement, values }, limit),
    all: (statement, values) => calls.call('all', { database, statement, values }, limit),
    close: () => calls.call('close', { database }, limit),
  };
}

function failure(error: unknown): string {
  const { message = 'it gave no reason' } = (error ?? {}) as { readonly message?: string };
  return `this browser cannot keep a database in its private files (${message}): it needs https, no private window, and a version of 2023 or later`;
}
