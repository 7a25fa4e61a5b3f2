import assert from 'node:assert/strict';
import { Rng, seededRandom } from '@tidemark/client-testing';
import { type CommitInterval, type Store, userPartition } from '@tidemark/core';
import { COMMIT_INTERVAL_S, COMMIT_INTERVALS_MAX } from '@tidemark/protocol';
import { put, remove } from './change.ts';
import { committed, ORDERS } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const START_MS = 1_700_000_000_000;
const MINUTE_MS = COMMIT_INTERVAL_S * 1_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const COMMITS = 120;
/** A joined interval lasts no longer than this share of the time since it began. */
const SHARE_MAX = 0.9;

/** Cases about the times at which changes were committed. */
export const commitTimeCases: readonly StoreCase[] = [
  storeCase(
    '[STORE-81] commits of different days have their own times, and quick ones share one',
    async ({ store }) => {
      assert.deepEqual(await store.commitTimes(ORDERS), []);
      await committed(store, [put('1'), put('2')], { atMs: START_MS });
      await committed(store, [put('3')], { atMs: START_MS + MINUTE_MS - 1_000 });
      await committed(store, [remove('unknown')], { atMs: START_MS + DAY_MS });
      await committed(store, [remove('1')], { atMs: START_MS + 2 * DAY_MS });
      await committed(store, [put('4')], {
        partition: userPartition(ORDERS.source, 'bob'),
        atMs: START_MS + 3 * DAY_MS,
      });
      assert.deepEqual(await store.commitTimes(ORDERS), [
        { seq: 1, fromMs: START_MS, toMs: START_MS + MINUTE_MS },
        { seq: 4, fromMs: START_MS + 2 * DAY_MS, toMs: START_MS + 2 * DAY_MS + MINUTE_MS },
      ]);
    },
  ),
  storeCase('[STORE-81] a commit without a time leaves the times as they are', async ({ store }) => {
    await committed(store, [put('1')]);
    assert.deepEqual(await store.commitTimes(ORDERS), []);
    await committed(store, [put('2')], { atMs: START_MS });
    assert.deepEqual(await store.commitTimes(ORDERS), [{ seq: 2, fromMs: START_MS, toMs: START_MS + MINUTE_MS }]);
  }),
  storeCase('[STORE-81] a reset deletes the times', async ({ store }) => {
    await committed(store, [put('1')], { atMs: START_MS });
    await store.reset([]);
    assert.deepEqual(await store.commitTimes(ORDERS), []);
    await committed(store, [put('1')], { atMs: START_MS + DAY_MS });
    assert.deepEqual((await store.commitTimes(ORDERS)).length, 1);
  }),
  storeCase(
    '[STORE-81] each change of a long history was committed within the time that is told',
    async ({ store }) => {
      const rng = new Rng(seededRandom(81));
      const commits: { readonly seq: number; readonly atMs: number }[] = [];
      let atMs = START_MS;
      for (let count = 0; count < COMMITS; count++) {
        atMs += rng.chance(5) ? rng.below(DAY_MS) : rng.below(10 * MINUTE_MS);
        const { head } = await committed(store, [put(`${rng.below(5)}`, `${count}`)], { atMs });
        commits.push({ seq: head, atMs });
        await assertTimes(store, commits, atMs);
      }
    },
  ),
];

async function assertTimes(
  store: Store,
  commits: readonly { readonly seq: number; readonly atMs: number }[],
  nowMs: number,
): Promise<void> {
  const times = await store.commitTimes(ORDERS);
  assert.ok(times.length <= COMMIT_INTERVALS_MAX, `${times.length} times are kept`);
  for (const { seq, atMs } of commits) {
    const interval = times.findLast((time) => time.seq <= seq);
    assert.ok(interval !== undefined && isWithin(interval, atMs), `seq ${seq} was committed at ${atMs}`);
  }
  for (const { fromMs, toMs } of times) {
    assert.ok(toMs - fromMs <= Math.max(MINUTE_MS, SHARE_MAX * (nowMs - fromMs) + MINUTE_MS), `${fromMs} to ${toMs}`);
  }
}

/** Times are kept in whole seconds. */
function isWithin({ fromMs, toMs }: CommitInterval, atMs: number): boolean {
  return fromMs <= atMs && atMs < toMs + 1_000;
}
