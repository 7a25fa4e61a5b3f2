import type { Device, DiskPart, LocalStore, SyncedObject } from '@tidemark/client';
import {
  openTestServer,
  type TestDeviceOptions,
  type TestServer,
  type TestServerOptions,
} from '@tidemark/client-testing';
import sqlite from 'node-sqlite3-wasm';
import { onTestFinished } from 'vitest';
import { wasmSqlite } from '../drivers/wasm-sqlite.ts';
import { openSqliteStore } from '../sqlite-store.ts';

/** A store that outlives its device, and in which a test can come between a call and its result. */
export interface WatchedStore extends LocalStore {
  commit: LocalStore['commit'];
  readonly disk: DiskPart;
  /** Called with what was read before the device gets it. */
  afterRead: () => Promise<void>;
}

export async function openWatchedStore(): Promise<WatchedStore> {
  const store = await openSqliteStore(wasmSqlite(new sqlite.Database(':memory:')));
  const { disk } = store;
  if (disk === undefined) throw new Error('a SQLite store has a disk part');
  onTestFinished(() => store.close());
  const watched: WatchedStore = {
    load: (onFirst) => store.load(onFirst),
    commit: (writes, options) => store.commit(writes, options),
    close: async () => undefined,
    afterRead: async () => undefined,
    disk: {
      ...disk,
      read: async (keys) => {
        const values = await disk.read(keys);
        await watched.afterRead();
        return values;
      },
      scan: async (scan) => {
        const rows = await disk.scan(scan);
        await watched.afterRead();
        return rows;
      },
    },
  };
  return watched;
}

/** Makes what is read next wait. Returns the function that lets it go on. */
export function holdReads(store: WatchedStore): { readonly begun: Promise<void>; readonly release: () => void } {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const begun = new Promise<void>((resolve) => {
    store.afterRead = () => {
      store.afterRead = async () => undefined;
      resolve();
      return released;
    };
  });
  return { begun, release };
}

export async function openServer(options: Partial<TestServerOptions> = {}): Promise<TestServer> {
  const server = await openTestServer({ sources: [{ name: 'Part' }], users: ['ada', 'bob'], ...options });
  onTestFinished(() => server.close());
  return server;
}

/** Opens a device that keeps sources on the disk. */
export async function openOnDisk(
  server: TestServer,
  store: LocalStore,
  options: TestDeviceOptions = { user: 'ada' },
  names: readonly string[] = ['Part'],
): Promise<Device> {
  const device = await server.openDevice({ store, ...options });
  for (const name of names) device.source(name, { keep: 'disk', indexes: ['n'] });
  return device;
}

/** Objects p00000, p00001 and so on, with their number. */
export function parts(count: number, from = 0): Readonly<Record<string, { readonly n: number }>> {
  const numbers = Array.from({ length: count }, (_, n) => n + from);
  return Object.fromEntries(numbers.map((n) => [`p${String(n).padStart(5, '0')}`, { n }]));
}

export function idsOf(rows: readonly SyncedObject[]): readonly string[] {
  return rows.map(({ id }) => id);
}
