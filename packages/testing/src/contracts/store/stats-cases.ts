import assert from 'node:assert/strict';
import type { StatRow, Store } from '@tidemark/core';
import { statRow } from './populate-store.ts';
import { sortByBytes } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

/** Cases about statistics. */
export const statsCases: readonly StoreCase[] = [
  storeCase(
    '[STORE-53] rows of statistics merge: counts and sums are added, minimum and maximum are extended',
    async ({ store }) => {
      await store.addStats([{ metric: 'm', atS: 60, count: 2, sum: 7.5, min: 2, max: 5.5 }]);
      await store.addStats([{ metric: 'm', atS: 60, count: 1, sum: -4, min: -4, max: -4 }]);
      await store.addStats([{ metric: 'm', atS: 60, count: 3, sum: 30, min: 9, max: 11 }]);
      assert.deepEqual(await all(store, 'm'), [{ metric: 'm', atS: 60, count: 6, sum: 33.5, min: -4, max: 11 }]);
    },
  ),
  storeCase('[STORE-53] rows of one call merge by metric and step', async ({ store }) => {
    await store.addStats([statRow('m', 60, 1), statRow('n', 60, 4), statRow('m', 120, 8), statRow('m', 60, 3)]);
    await store.addStats([]);
    const first = { metric: 'm', atS: 60, count: 2, sum: 4, min: 1, max: 3 };
    assert.deepEqual(await all(store, 'm'), [first, statRow('m', 120, 8)]);
    assert.deepEqual(await all(store, 'n'), [statRow('n', 60, 4)]);
  }),
  storeCase('[STORE-53] concurrent rows of statistics are all counted', async ({ store }) => {
    await Promise.all(Array.from({ length: 64 }, (_, number) => store.addStats([statRow('m', 60, number)])));
    assert.deepEqual(await all(store, 'm'), [{ metric: 'm', atS: 60, count: 64, sum: 2_016, min: 0, max: 63 }]);
  }),
  storeCase('[STORE-54] rows are counted from the given end and returned oldest first', async ({ store }) => {
    // Numbers of different length, so that sorting them as texts would show.
    const steps = [0, 60, 120, 600, 6_000, 60_000, 1_700_000_040, 1_700_000_100];
    const rows = steps.map((atS, index) => statRow('m', atS, index));
    await store.addStats([...rows].reverse());
    await store.addStats([statRow('m2', 180, 1), statRow('l', 180, 1)]);
    for (const limit of [1, 3, 8, 100]) {
      assert.deepEqual(await store.readStats('m', 'oldest', limit), rows.slice(0, limit));
      assert.deepEqual(await store.readStats('m', 'newest', limit), rows.slice(-limit));
    }
    assert.deepEqual(await store.readStats('unknown', 'oldest', 10), []);
    assert.deepEqual(await store.readStats('unknown', 'newest', 10), []);
  }),
  storeCase('[STORE-55] metrics with rows are listed once each, sorted', async ({ store }) => {
    assert.deepEqual(await store.statNames(), []);
    const names = ['users', 'http:GET:/rc/v1/users', 'http:GET:/rc', '\u{1F600}', '\uFF5E', 'Users', 'u', 'users x'];
    await store.addStats(names.flatMap((name) => [statRow(name, 60, 1), statRow(name, 120, 1)]));
    assert.deepEqual(await store.statNames(), sortByBytes(names));
  }),
  storeCase(
    '[STORE-56] trimming statistics removes the rows before the given time, and no others',
    async ({ store }) => {
      const rows = [0, 60, 120, 180].map((atS) => statRow('m', atS, 1));
      await store.addStats([...rows, statRow('old', 60, 1), statRow('new', 120, 1)]);
      assert.equal(await trimAll(store, 120), 3);
      assert.deepEqual(await all(store, 'm'), rows.slice(2));
      assert.deepEqual(await all(store, 'old'), []);
      assert.deepEqual(await store.statNames(), ['m', 'new']);
      assert.equal(await store.trimStats(120), 0);
      assert.equal(await trimAll(store, 121), 2);
      assert.deepEqual(await store.statNames(), ['m']);
    },
  ),
  storeCase(
    '[STORE-56] one call trims a bounded number of rows and returns how many',
    async ({ store, capabilities }) => {
      const count = capabilities.rowsPerTrimMax * 2 + 1;
      const rows = Array.from({ length: count }, (_, number) => statRow(`m${number % 3}`, number * 60, 1));
      await store.addStats(rows);
      let left = count;
      while (left > 0) {
        const gone = await store.trimStats(count * 60);
        assert.ok(gone >= 1 && gone <= capabilities.rowsPerTrimMax, `${gone} rows went`);
        left -= gone;
        const counts = await Promise.all(['m0', 'm1', 'm2'].map(async (metric) => (await all(store, metric)).length));
        assert.equal(
          counts.reduce((sum, more) => sum + more, 0),
          left,
        );
      }
      assert.deepEqual(await store.statNames(), []);
    },
  ),
  storeCase('[STORE-56] a trimmed step that is recorded again begins at zero', async ({ store }) => {
    await store.addStats([statRow('m', 60, 5)]);
    await trimAll(store, 61);
    await store.addStats([statRow('m', 60, 2)]);
    assert.deepEqual(await all(store, 'm'), [statRow('m', 60, 2)]);
  }),
];

function all(store: Store, metric: string): Promise<readonly StatRow[]> {
  return store.readStats(metric, 'oldest', 1_000_000);
}

async function trimAll(store: Store, beforeS: number): Promise<number> {
  let gone = 0;
  for (;;) {
    const more = await store.trimStats(beforeS);
    if (more === 0) return gone;
    gone += more;
  }
}
