import assert from 'node:assert/strict';
import { Rng, seededRandom } from '@tidemark/client-testing';
import type { JournalRange, JournalSlice, Store } from '@tidemark/core';
import { IS_LONG } from '../../kit/is-long.ts';
import type { PartitionModel } from './partition-model.ts';
import { randomHistory } from './random-history.ts';
import { assertSlice, ORDERS, trimFully, WHOLE } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

/** Cases about random slices of random journals. */
export const journalPropertyCases: readonly StoreCase[] = [
  storeCase('[STORE-22] random ranges of a random journal equal those of the model', async ({ store }) => {
    const model = await randomHistory(store, { seed: 22, commits: 120, ids: 40 });
    const rng = new Rng(seededRandom(2_222));
    for (let round = 0; round < RANGES; round++) await assertSlice(store, model, randomRange(rng, model.head));
    const upTo = Math.floor(model.head * 0.8);
    await trimFully(store, ORDERS, upTo);
    model.trim(upTo);
    for (let round = 0; round < RANGES; round++) await assertSlice(store, model, randomRange(rng, model.head));
  }),
  storeCase(
    '[STORE-74] joined records of all sizes equal the single records, however they were changed',
    async ({ store }) => {
      const rng = new Rng(seededRandom(7_474));
      const check = async (model: PartitionModel) => {
        for (let round = 0; round < 4; round++) await assertSlice(store, model, largeRange(rng, model.head));
        await assertObjects(store, model, rng);
      };
      const history = { seed: 74, commits: IS_LONG ? 50 : 20, ids: MANY_IDS, changesMax: 60, texts: SIZES, check };
      await randomHistory(store, history);
    },
  ),
  storeCase('[STORE-27] consecutive slices of any size give the same as one slice', async ({ store }) => {
    const { head } = await randomHistory(store, { seed: 27, commits: 60, ids: 30 });
    const rng = new Rng(seededRandom(2_727));
    for (let round = 0; round < 60; round++) {
      const { after, tombstonesAfter } = randomRange(rng, head);
      const whole = await store.readJournal(ORDERS, { ...WHOLE, after, tombstonesAfter });
      const steps = await walk(store, { ...WHOLE, after, tombstonesAfter }, () => randomRange(rng, head));
      assert.deepEqual(steps, whole, `after ${after}, tombstonesAfter ${tombstonesAfter}`);
    }
  }),
  storeCase('[STORE-27] the smallest slices return every entry once', async ({ store }) => {
    await randomHistory(store, { seed: 28, commits: 40, ids: 25 });
    const whole = await store.readJournal(ORDERS, WHOLE);
    assert.deepEqual(await walk(store, WHOLE, () => ({ ...WHOLE, entriesMax: 1 })), whole);
    assert.deepEqual(await walk(store, WHOLE, () => ({ ...WHOLE, unitsMax: 0 })), whole);
  }),
];

/** How many random ranges are read, of a journal before it is trimmed, and after it. */
const RANGES = IS_LONG ? 300 : 75;
const MANY_IDS = 150;
const SIZES = [
  '',
  'é',
  '😀',
  'two\nlines',
  ...[10, 60, 200, 200, 200, 700, 1_500, 5_000].map((units) => 'x'.repeat(units)),
];

function largeRange(rng: Rng, head: number): JournalRange {
  return {
    ...randomRange(rng, head),
    entriesMax: rng.chance(30) ? 1_000 : rng.between(1, 120),
    unitsMax: rng.chance(50) ? 1_000_000 : rng.below(30_000),
  };
}

async function assertObjects(store: Store, model: PartitionModel, rng: Rng): Promise<void> {
  const ids = Array.from({ length: rng.between(1, 20) }, () => `id ${rng.below(MANY_IDS)}`);
  const { objects } = await store.readObjects(ORDERS, ids);
  for (const id of ids) assert.deepEqual(objects.get(id), model.objectOf(id), id);
}

function randomRange(rng: Rng, head: number): JournalRange {
  return {
    after: rng.chance(20) ? 0 : rng.below(head + 2),
    tombstonesAfter: rng.chance(50) ? 0 : rng.below(head + 2),
    entriesMax: rng.chance(20) ? 1_000 : rng.between(1, 12),
    unitsMax: rng.chance(50) ? 1_000_000 : rng.below(300),
  };
}

/** Reads a journal in slices of different sizes and joins them. */
async function walk(store: Store, from: JournalRange, nextSize: () => JournalRange): Promise<JournalSlice> {
  const { tombstonesAfter } = from;
  const records: string[] = [];
  const seqs: number[] = [];
  const tombstones: string[] = [];
  let after = from.after;
  for (;;) {
    const { entriesMax, unitsMax } = nextSize();
    const slice = await store.readJournal(ORDERS, { after, tombstonesAfter, entriesMax, unitsMax });
    records.push(...slice.records);
    seqs.push(...slice.seqs);
    tombstones.push(...slice.tombstones);
    if (slice.upTo === slice.state.head) return { state: slice.state, records, seqs, tombstones, upTo: slice.upTo };
    assert.ok(slice.upTo > after, `a slice after ${after} ended at ${slice.upTo}`);
    after = slice.upTo;
  }
}
