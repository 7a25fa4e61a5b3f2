import { GLOB_STARS_MAX, GLOB_UNITS_MAX, METRICS_MAX, Refusal, type RefusalCode } from '@tidemark/protocol';
import { openMemoryStore, seededRandom } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { StatRow, Store } from '../ports/store.ts';
import { Stats } from './stats.ts';

const START_MS = 1_700_000_040_000;
const START_S = START_MS / 1_000;
const MINUTE_MS = 60_000;

function setUp(change: { retentionS?: number; wrap?: (store: Store) => Store } = {}) {
  const memory = openMemoryStore({ random: seededRandom(1) });
  const { wrap = (store: Store) => store, ...options } = change;
  return { store: memory, stats: new Stats({ store: wrap(memory), ...options }) };
}

async function refusal(work: Promise<unknown>): Promise<RefusalCode | 'nothing'> {
  try {
    await work;
    return 'nothing';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

describe('record and read', () => {
  it('[STATS-1] a metric has one step per minute, oldest first, flushed or not', async () => {
    const { stats } = setUp();
    stats.record('m', 3, START_MS);
    stats.record('m', -1, START_MS + MINUTE_MS - 1);
    stats.record('m', 5, START_MS + MINUTE_MS);
    const expected = [
      { at: START_S, count: 2, sum: 2, min: -1, max: 3 },
      { at: START_S + 60, count: 1, sum: 5, min: 5, max: 5 },
    ];
    expect(await stats.read({ metric: 'm' })).toEqual(expected);
    await stats.flush();
    expect(await stats.read({ metric: 'm' })).toEqual(expected);
    stats.record('m', 7, START_MS + MINUTE_MS);
    const merged = [expected[0], { at: START_S + 60, count: 2, sum: 12, min: 5, max: 7 }];
    expect(await stats.read({ metric: 'm' })).toEqual(merged);
    await stats.flush();
    await stats.flush();
    expect(await stats.read({ metric: 'm' })).toEqual(merged);
  });

  it('[STATS-1] bounds count from both ends, whatever is flushed', async () => {
    for (const flushedUpTo of [0, 3, 6]) {
      const { stats } = setUp();
      for (let step = 0; step < 6; step++) {
        if (step === flushedUpTo) await stats.flush();
        stats.record('m', step, START_MS + step * MINUTE_MS);
      }
      if (flushedUpTo === 6) await stats.flush();
      const read = async (start?: unknown, finish?: unknown) =>
        (await stats.read({ metric: 'm', start, finish })).map(({ sum }) => sum);
      expect(await read()).toEqual([0, 1, 2, 3, 4, 5]);
      expect(await read('0', '-1')).toEqual([0, 1, 2, 3, 4, 5]);
      expect(await read(1, 2)).toEqual([1, 2]);
      expect(await read('-2')).toEqual([4, 5]);
      expect(await read(-4, -3)).toEqual([2, 3]);
      expect(await read(4, -1)).toEqual([4, 5]);
      expect(await read(-100, 100)).toEqual([0, 1, 2, 3, 4, 5]);
      expect(await read(4, 2)).toEqual([]);
      expect(await read(6, 9)).toEqual([]);
      expect(await read(0, -7)).toEqual([]);
    }
  });

  it('[STATS-2] bounds that are not whole numbers, and a metric that is not a string, are refused', async () => {
    const { stats } = setUp();
    stats.record('m', 1, START_MS);
    for (const start of ['abc', '1e9', '1.5']) {
      expect(await refusal(stats.read({ metric: 'm', start }))).toBe('invalid_request');
      expect(await refusal(stats.read({ metric: 'm', finish: start }))).toBe('invalid_request');
    }
    for (const metric of [undefined, 7, ['m']]) expect(await refusal(stats.read({ metric }))).toBe('invalid_request');
  });

  it('[STATS-3] a metric exists while it has rows', async () => {
    const { stats } = setUp();
    stats.record('m', 1, START_MS);
    await stats.flush();
    for (const metric of ['n', '../user:x', '', '*', '__proto__', 'm\u0000', '\ud800', 'x'.repeat(100_000)]) {
      expect(await refusal(stats.read({ metric }))).toBe('metric_not_found');
    }
    expect(await stats.read({ metric: 'm', start: 9, finish: 5 })).toEqual([]);
  });
});

describe('names', () => {
  it('[STATS-4] metrics that match a pattern are listed sorted, flushed or not', async () => {
    const { stats } = setUp();
    stats.record('sources:query:Product', 1, START_MS);
    stats.record('http:GET:/x', 1, START_MS);
    await stats.flush();
    stats.record('sources:pull:Product', 1, START_MS);
    stats.record('sources:pull:Other', 1, START_MS);
    expect(await stats.names('sources:*:Product')).toEqual(['sources:pull:Product', 'sources:query:Product']);
    expect(await stats.names('*')).toEqual([
      'http:GET:/x',
      'sources:pull:Other',
      'sources:pull:Product',
      'sources:query:Product',
    ]);
    expect(await stats.names('http:GET:/x')).toEqual(['http:GET:/x']);
    expect(await stats.names('nothing*')).toEqual([]);
    expect(await stats.names('')).toEqual([]);
  });

  it('[STATS-5] the length and the stars of a pattern are limited', async () => {
    const { stats } = setUp();
    expect(await refusal(stats.names('*'.repeat(GLOB_STARS_MAX)))).toBe('nothing');
    expect(await refusal(stats.names('*'.repeat(GLOB_STARS_MAX + 1)))).toBe('invalid_value');
    expect(await refusal(stats.names('*a*a*a*a*a*a*a*a*a*b'))).toBe('invalid_value');
    expect(await refusal(stats.names('x'.repeat(GLOB_UNITS_MAX)))).toBe('nothing');
    expect(await refusal(stats.names('x'.repeat(GLOB_UNITS_MAX + 1)))).toBe('invalid_value');
    for (const pattern of [undefined, 7, ['*']]) expect(await refusal(stats.names(pattern))).toBe('invalid_request');
  });
});

describe('bounds', () => {
  it('[STATS-6] metrics beyond the limit are not recorded, and the number of lost measurements is', async () => {
    const { stats } = setUp();
    for (let n = 0; n < METRICS_MAX; n++) stats.record(`m${n}`, 1, START_MS);
    expect(stats.dropped).toBe(0);
    stats.record('one-too-many', 1, START_MS);
    stats.record('m0', Number.NaN, START_MS);
    stats.record('x'.repeat(513), 1, START_MS);
    expect(stats.dropped).toBe(3);
    await stats.flush();
    expect(await stats.names('*')).toHaveLength(METRICS_MAX);
    stats.record('still-too-many', 1, START_MS);
    stats.record('m0', 1, START_MS);
    expect(stats.dropped).toBe(4);
    expect(await stats.read({ metric: 'm0' })).toMatchObject([{ count: 2 }]);
  });

  it('[STATS-6] a metric that is no longer recorded makes room for a new one', async () => {
    const { stats } = setUp({ retentionS: 3_600 });
    for (let n = 0; n < METRICS_MAX; n++) stats.record(`m${n}`, 1, START_MS);
    await stats.flush();
    stats.record('m0', 1, START_MS + 3_700_000);
    await stats.trim(START_MS + 3_720_000);
    stats.record('new', 1, START_MS + 3_720_000);
    expect(stats.dropped).toBe(0);
    expect(await stats.read({ metric: 'm0', start: -1 })).toMatchObject([{ count: 1 }]);
  });
});

describe('flush', () => {
  it('[STATS-7] a flush counts every measurement once when the store fails or is read meanwhile', async () => {
    let failures = 0;
    const batches: StatRow[][] = [];
    const wrap = (store: Store): Store =>
      new Proxy(store, {
        get: (target, name) => {
          if (name !== 'addStats') return Reflect.get(target, name).bind(target);
          return async (rows: StatRow[]) => {
            await Promise.resolve();
            failures -= 1;
            if (failures === 0) throw new Refusal('store_unavailable', 'later');
            batches.push(rows);
            await target.addStats(rows);
            await Promise.resolve();
          };
        },
      });
    const { stats } = setUp({ wrap });
    for (let n = 0; n < 2_500; n++) stats.record(`m${n}`, n, START_MS);
    failures = 2;
    expect(await refusal(stats.flush())).toBe('store_unavailable');
    expect(batches.map(({ length }) => length)).toEqual([1_000]);
    stats.record('m2000', 1, START_MS);
    const [first, last, names] = await Promise.all([
      stats.read({ metric: 'm0' }),
      stats.read({ metric: 'm2000' }),
      stats.names('*'),
      stats.flush(),
    ]);
    const [after] = await Promise.all([stats.read({ metric: 'm2000' }), stats.flush()]);
    expect(first).toMatchObject([{ count: 1, sum: 0 }]);
    expect(last).toEqual([{ at: START_S, count: 2, sum: 2_001, min: 1, max: 2_000 }]);
    expect(after).toEqual(last);
    expect(names).toHaveLength(2_500);
    expect(await stats.read({ metric: 'm2000' })).toEqual(last);
    expect(batches.flat()).toHaveLength(2_501);
  });

  it('[STATS-7] a flush without new measurements does not call the store', async () => {
    let calls = 0;
    const wrap = (store: Store): Store =>
      new Proxy(store, {
        get: (target, name) => {
          if (name === 'addStats') calls += 1;
          return Reflect.get(target, name).bind(target);
        },
      });
    const { stats } = setUp({ wrap });
    await stats.flush();
    stats.record('m', 1, START_MS);
    await stats.flush();
    await stats.flush();
    expect(calls).toBe(1);
  });

  it('[STATS-9] `clear` drops measurements that are not stored yet', async () => {
    const { stats } = setUp();
    stats.record('kept', 1, START_MS);
    await stats.flush();
    stats.record('kept', 1, START_MS);
    stats.record('gone', 1, START_MS);
    stats.clear();
    await stats.flush();
    expect(await stats.names('*')).toEqual(['kept']);
    expect(await stats.read({ metric: 'kept' })).toMatchObject([{ count: 1 }]);
  });
});

describe('trim', () => {
  it('[STATS-8] a trim deletes all rows older than thirty days, in bounded steps', async () => {
    const { stats, store } = setUp();
    const days = 24 * 3_600;
    const rows = Array.from({ length: 1_500 }, (_, n) => ({
      metric: 'old',
      atS: n * 60,
      count: 1,
      sum: 1,
      min: 1,
      max: 1,
    }));
    await store.addStats(rows);
    stats.record('m', 1, START_MS - 30 * days * 1_000 - MINUTE_MS);
    stats.record('m', 2, START_MS - 30 * days * 1_000);
    stats.record('m', 3, START_MS);
    await stats.flush();
    expect(await stats.trim(START_MS, async () => false)).toBe(1_000);
    expect(await stats.trim(START_MS)).toBe(501);
    expect(await stats.trim(START_MS)).toBe(0);
    expect(await stats.names('*')).toEqual(['m']);
    expect((await stats.read({ metric: 'm' })).map(({ sum }) => sum)).toEqual([2, 3]);
  });
});
