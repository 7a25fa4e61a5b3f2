import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DeviceId, type Log, type Store, Tidemark } from '@tidemark/core';
import { DEFAULT_LIMITS } from '@tidemark/protocol';
import { openEmbeddedStore } from '@tidemark/store-embedded';

/** A Tidemark on its own embedded store, with a shared document of so many objects and a registered device. */
export interface Fixture {
  readonly tidemark: Tidemark;
  readonly store: Store;
  readonly folder: string;
  readonly objects: number;
  readonly device: DeviceId;
}

export const SOURCE = 'Product';
const LOAD_BATCH = 10_000;
const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };
const noPasswords = {
  hash: () => Promise.reject(new Error('benchmarks need no passwords')),
  verify: () => Promise.reject(new Error('benchmarks need no passwords')),
  isOutdated: () => false,
};

export function tidemarkOn(store: Store): Tidemark {
  return new Tidemark({
    store,
    clock: { nowMs: () => Date.now() },
    random: { bytes: (count) => randomBytes(count) },
    passwords: noPasswords,
    log: silent,
    pace: { turn: () => new Promise((resolve) => setImmediate(resolve)) },
    // Pages are to be made, not remembered: that would measure nothing.
    limits: { ...DEFAULT_LIMITS, writeUnitsMax: 2 ** 31, pageCacheUnitsMax: 1 },
  });
}

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
}

export async function buildFixture(objects: number, say: (line: string) => void): Promise<Fixture> {
  const folder = newFolder();
  const store = await openEmbeddedStore({ folder });
  const tidemark = tidemarkOn(store);
  await tidemark.sources.declare({ name: SOURCE, partition_type: 'app' });
  for (let start = 0; start < objects; start += LOAD_BATCH) {
    const count = Math.min(LOAD_BATCH, objects - start);
    await tidemark.objects.fastInsert({ source: SOURCE, objects: objectsFrom(start, count) });
    if ((start + count) % 100_000 === 0) say(`  ${start + count} of ${objects} objects`);
  }
  const user = await tidemark.users.ensure('ada');
  const { client_id: client } = await tidemark.clients.register(user, {});
  return { tidemark, store, folder, objects, device: { user, client } };
}

export async function endFixture({ store, folder }: Pick<Fixture, 'store' | 'folder'>): Promise<void> {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}

/** Objects of about 200 bytes of JSON. */
export function objectsFrom(start: number, count: number): Record<string, Record<string, unknown>> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [idOf(start + index), objectOf(start + index)]),
  );
}

export function idOf(number: number): string {
  return `product-${number}`;
}

function objectOf(number: number): Record<string, unknown> {
  return {
    name: `Product number ${number}`,
    brand: `Brand ${number % 97}`,
    price: (number % 10_000) / 100,
    stock: number % 1_000,
    tags: ['new', `tag-${number % 13}`],
    text: 'Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor.',
  };
}
