import sqlite3InitModule from '@sqlite.org/sqlite-wasm';
import type { SqliteRow, SqliteValue } from '../sqlite-driver.ts';
import { timeLimit } from './browser.ts';
import type { OpfsAnswers, OpfsCallName, OpfsCalls, OpfsRequest, OpfsResponse } from './opfs-messages.ts';

/** What this module uses of a dedicated worker. */
interface WorkerScope {
  postMessage(message: OpfsResponse): void;
  addEventListener(type: 'message', listener: (event: { readonly data: OpfsRequest }) => void): void;
  readonly navigator: {
    readonly locks: {
      request(name: string, options: object, held: () => Promise<never>): Promise<never>;
    };
  };
}

/** What this module uses of the pool of `@sqlite.org/sqlite-wasm`, whose connections answer at once. */
interface Database {
  exec(options: string | { readonly sql: string; readonly bind?: readonly SqliteValue[] }): unknown;
  selectObjects(sql: string, bind?: readonly SqliteValue[]): readonly SqliteRow[];
  close(): void;
}
interface Pool {
  readonly OpfsSAHPoolDb: new (name: string) => Database;
  getFileNames(): readonly string[];
  reserveMinimumCapacity(files: number): Promise<unknown>;
}

/** A database, its log and its journal, and as many for the one that takes its place. */
const SPARE_FILES = 6;
/** The browser closes the files of a page that was killed a little later than it gives its lock away. */
const [TAKING_TRIES_MAX, TAKING_PAUSE_MS] = [20, 100];

const scope = globalThis as unknown as WorkerScope;
const databases = new Map<number, Database>();
let pool: Pool | null = null;
let opened = 0;

const CALLS: { readonly [N in OpfsCallName]: (given: OpfsCalls[N]) => Promise<OpfsAnswers[N]> } = {
  start: async ({ pool: name, waitMs }) => {
    await takeLock(name, waitMs);
    pool = await takePool(name);
    return null;
  },
  list: async () => files(poolHere().getFileNames()),
  open: async ({ name }) => {
    const here = poolHere();
    await here.reserveMinimumCapacity(here.getFileNames().length + SPARE_FILES);
    opened++;
    databases.set(opened, new here.OpfsSAHPoolDb(`/${name}`));
    return opened;
  },
  execute: async ({ database, statements }) => {
    connection(database).exec(statements);
    return null;
  },
  run: async ({ database, statement, values }) => {
    connection(database).exec({ sql: statement, ...bound(values) });
    return null;
  },
  all: async ({ database, statement, values }) =>
    connection(database).selectObjects(statement, ...(values.length === 0 ? [] : [values])),
  close: async ({ database }) => {
    databases.get(database)?.close();
    databases.delete(database);
    return null;
  },
};

/** Calls are made one after the other, in the order in which they came. */
let last: Promise<unknown> = Promise.resolve();
scope.addEventListener('message', ({ data }) => {
  last = last.then(() => answer(data));
});

async function answer<N extends OpfsCallName>({ id, name, given }: OpfsRequest<N>): Promise<void> {
  try {
    scope.postMessage({ id, answer: await CALLS[name](given) });
  } catch (error) {
    const { message = '', code } = (error ?? {}) as { readonly message?: string; readonly code?: unknown };
    scope.postMessage({ id, message: String(message), ...(typeof code === 'string' ? { code } : {}) });
  }
}

/** The browser gives the lock away when this worker ends, however it ends. */
function takeLock(name: string, waitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const held = () => {
      resolve();
      return new Promise<never>(() => undefined);
    };
    const signal = timeLimit(waitMs);
    const inUse = () => reject(Object.assign(new Error('locked'), { code: 'store_in_use' }));
    scope.navigator.locks.request(`tidemark sqlite ${name}`, { signal }, held).catch(inUse);
  });
}

async function takePool(name: string): Promise<Pool> {
  const sqlite3 = await sqlite3InitModule();
  for (let tries = 1; ; tries++) {
    try {
      const options = { name: `tidemark-${name}`, directory: `.tidemark-${name}`, forceReinitIfPreviouslyFailed: true };
      return (await sqlite3.installOpfsSAHPoolVfs(options)) as unknown as Pool;
    } catch (error) {
      if (tries === TAKING_TRIES_MAX) throw error;
      await new Promise<void>((resolve) => timeLimit(TAKING_PAUSE_MS).addEventListener('abort', () => resolve()));
    }
  }
}

function files(paths: readonly string[]): readonly string[] {
  return paths.map((path) => path.replace(/^\//, ''));
}

function poolHere(): Pool {
  if (pool === null) throw new Error('the worker has not started');
  return pool;
}

function connection(database: number): Database {
  const found = databases.get(database);
  if (found === undefined) throw new Error('the connection is closed');
  return found;
}

function bound(values: readonly SqliteValue[]): { readonly bind?: readonly SqliteValue[] } {
  return values.length === 0 ? {} : { bind: values };
}
