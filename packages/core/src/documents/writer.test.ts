import { COMMIT_ATTEMPTS_MAX } from '@tidemark/protocol';
import { newTidemark, openMemoryStore, refusalOf, seededRandom } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { userPartition } from '../ports/owner.ts';
import type { Commit, Store } from '../ports/store.ts';

const ada = { source: 'Order', user_id: 'ada' };

/** A store that lets somebody else write just before each of the first `times` commits. */
function overtaken(times: number, rival: (store: Store, commit: Commit) => Promise<unknown>): Store {
  const store = openMemoryStore({ random: seededRandom(7) });
  const commit = store.commit.bind(store);
  let left = times;
  let isRivalAtWork = false;
  store.commit = async (request) => {
    if (!isRivalAtWork && left > 0) {
      left--;
      isRivalAtWork = true;
      await rival(store, request);
      isRivalAtWork = false;
    }
    return commit(request);
  };
  return store;
}

describe('writes', () => {
  it('[WRITE-1] push_objects merges attributes into existing objects and creates missing ones', async () => {
    const { tidemark } = await newTidemark();
    await tidemark.objects.push({ ...ada, objects: { 1: { a: 1, b: [1] } } });
    const report = await tidemark.objects.push({ ...ada, objects: { 1: { b: [2], c: null }, 2: { a: 'x' } } });
    expect(report).toEqual({ source: 'Order', user_id: 'ada', changed: 2, unchanged: 0, seq: 3 });
    expect(await tidemark.objects.read(ada)).toEqual(
      new Map([
        ['1', { a: 1, b: [2], c: null }],
        ['2', { a: 'x' }],
      ]),
    );
  });

  it('[PG-61] push_objects with deletes does both in one commit, and an id in both is refused', async () => {
    const { tidemark } = await newTidemark();
    await tidemark.objects.push({ ...ada, objects: { 1: { a: 1 }, 2: { a: 1 }, 3: { a: 1 } } });
    const report = await tidemark.objects.push({
      ...ada,
      objects: { 2: { b: 2 }, 4: { a: 1 } },
      deletes: ['1', 'nope'],
    });
    expect(report).toEqual({ source: 'Order', user_id: 'ada', changed: 3, unchanged: 1, seq: 6 });
    const both = { ...ada, objects: { 3: { a: 2 } }, deletes: ['4', '3'] };
    expect(await refusalOf(tidemark.objects.push(both))).toBe('invalid_value');
    expect(await refusalOf(tidemark.objects.push({ ...ada, objects: {}, deletes: '3' }))).toBe('invalid_request');
    expect(Object.fromEntries(await tidemark.objects.read(ada))).toEqual({
      2: { a: 1, b: 2 },
      3: { a: 1 },
      4: { a: 1 },
    });
  });

  it('[PG-61] a push with deletes that a limit refuses changes nothing', async () => {
    const { tidemark } = await newTidemark({ limits: { objectsPerWriteMax: 3 } });
    await tidemark.objects.push({ ...ada, objects: { 1: { a: 1 }, 2: { a: 1 } } });
    const call = { ...ada, objects: { 3: { a: 1 }, 4: { a: 1 } }, deletes: ['1', '2'] };
    expect(await refusalOf(tidemark.objects.push(call))).toBe('limit_exceeded');
    await tidemark.objects.push({ ...call, deletes: ['1'] });
    expect([...(await tidemark.objects.read(ada)).keys()]).toEqual(['2', '3', '4']);
  });

  it('[PG-62] push_objects with whole removes the attributes that are not given, and equal objects stay as they are', async () => {
    const { tidemark } = await newTidemark();
    await tidemark.objects.push({ ...ada, objects: { 1: { a: 1, b: 1 }, 2: { a: 1 }, 3: { a: 1 } } });
    const report = await tidemark.objects.push({
      ...ada,
      objects: { 1: { a: 1 }, 2: { a: 1 }, 3: {}, 4: { a: 1 } },
      whole: true,
    });
    expect(report).toMatchObject({ changed: 3, unchanged: 1 });
    expect(Object.fromEntries(await tidemark.objects.read(ada))).toEqual({ 1: { a: 1 }, 2: { a: 1 }, 4: { a: 1 } });
  });

  it('[WRITE-2] a write that changes nothing leaves the head where it is', async () => {
    const { tidemark } = await newTidemark();
    await tidemark.objects.push({ ...ada, objects: { 1: { a: 1, o: { x: 1, y: 2 } } } });
    const before = await tidemark.objects.partition(ada);
    const calls = [
      await tidemark.objects.push({ ...ada, objects: { 1: { o: { y: 2, x: 1 } } } }),
      await tidemark.objects.pushDeletes({ ...ada, objects: ['nope'] }),
      await tidemark.objects.fastUpdate({ ...ada, delete_data: { 1: { a: 2 } }, data: {} }),
      await tidemark.objects.fastDelete({ ...ada, data: { 1: { zzz: 1 } } }),
      await tidemark.objects.replace({ ...ada, objects: { 1: { o: { x: 1, y: 2 }, a: 1 } }, since: null }),
      await tidemark.objects.push({ ...ada, objects: {} }),
    ];
    expect(calls.map(({ changed, seq }) => [changed, seq])).toEqual(calls.map(() => [0, before.head]));
    expect(await tidemark.objects.partition(ada)).toEqual(before);
  });

  it('[WRITE-3] push_deletes deletes existing objects and ignores missing ones', async () => {
    const { tidemark } = await newTidemark();
    await tidemark.objects.push({ ...ada, objects: { 1: { a: 1 }, 2: { a: 1 } } });
    const report = await tidemark.objects.pushDeletes({ ...ada, objects: ['1', 'nope', '1'] });
    expect(report).toEqual({ source: 'Order', user_id: 'ada', changed: 1, unchanged: 1, seq: 3 });
    expect([...(await tidemark.objects.read(ada)).keys()]).toEqual(['2']);
  });

  it('[WRITE-4] fast_insert replaces the whole object without reading the old one', async () => {
    const { tidemark } = await newTidemark();
    await tidemark.objects.push({ ...ada, objects: { 1: { a: 1, b: 1 } } });
    expect(await tidemark.objects.fastInsert({ ...ada, objects: { 1: { b: 1 } } })).toMatchObject({
      changed: 1,
      seq: 2,
    });
    expect(await tidemark.objects.fastInsert({ ...ada, objects: { 1: { b: 1 } } })).toMatchObject({
      changed: 1,
      seq: 3,
    });
    expect(await tidemark.objects.read(ada)).toEqual(new Map([['1', { b: 1 }]]));
    expect(await tidemark.objects.partition(ada)).toMatchObject({ size: 1 });
  });

  it('[WRITE-5] fast_update removes attributes that still have the previous value, then sets the new ones', async () => {
    const { tidemark } = await newTidemark();
    await tidemark.objects.push({ ...ada, objects: { 1: { a: 1, b: 2, c: { y: 1, x: 2 } } } });
    await tidemark.objects.fastUpdate({
      ...ada,
      delete_data: { 1: { b: 99, c: { x: 2, y: 1 }, a: 1 } },
      data: { 1: { d: 4 }, 2: { n: 1 } },
    });
    expect(await tidemark.objects.read(ada)).toEqual(
      new Map([
        ['1', { b: 2, d: 4 }],
        ['2', { n: 1 }],
      ]),
    );
  });

  it('[WRITE-6] fast_delete removes matching attributes, and deletes an object without attributes left', async () => {
    const { tidemark } = await newTidemark();
    await tidemark.objects.push({ ...ada, objects: { 1: { a: 1, b: 2 }, 2: { a: 1 } } });
    await tidemark.objects.fastDelete({ ...ada, data: { 1: { a: 1 }, 2: { a: 1 }, 3: { a: 1 } } });
    expect(await tidemark.objects.read(ada)).toEqual(new Map([['1', { b: 2 }]]));
    expect(await tidemark.objects.partition(ada)).toMatchObject({ size: 1 });
  });

  it('[WRITE-7] an object without attributes is not created', async () => {
    const { tidemark } = await newTidemark();
    await tidemark.objects.push({ ...ada, objects: { 1: { a: 1 }, 2: {} } });
    await tidemark.objects.fastInsert({ ...ada, objects: { 1: {}, 3: {} } });
    expect(await tidemark.objects.read(ada)).toEqual(new Map([['1', { a: 1 }]]));
    await tidemark.objects.replace({ ...ada, objects: { 1: {}, 4: {} }, since: null });
    expect(await tidemark.objects.read(ada)).toEqual(new Map());
  });

  it('[WRITE-11] many concurrent writes to one object all succeed, and no attribute is lost', async () => {
    const { tidemark } = await newTidemark();
    const writers = Array.from({ length: 64 }, (_, index) =>
      tidemark.objects.push({ ...ada, objects: { 1: { [`w${index}`]: index, shared: index } } }),
    );
    const reports = await Promise.all(writers);
    expect(new Set(reports.map((report) => report.seq)).size).toBe(64);
    const object = (await tidemark.objects.read(ada)).get('1') ?? {};
    expect(Object.keys(object).length).toBe(65);
  });

  it('[WRITE-12] a write whose user or source is deleted meanwhile is refused and stores nothing', async () => {
    for (const [kind, key, code] of [
      ['setting', ['life', 'ada'], 'user_not_found'],
      ['source', ['Order'], 'source_not_found'],
    ] as const) {
      const store = overtaken(1, (inner) =>
        inner.writeEntries({ writes: [{ kind, key: [...key], value: null }], guards: [], erase: { users: ['ada'] } }),
      );
      const { tidemark } = await newTidemark({ store });
      expect(await refusalOf(tidemark.objects.fastInsert({ ...ada, objects: { 1: { a: 1 } } }))).toBe(code);
      expect(await store.partitions({ limit: 10 })).toEqual([]);
    }
  });

  it('[WRITE-16] concurrent writes are serialised when each repeats a value that the other changes', async () => {
    for (let round = 0; round < 50; round++) {
      const { tidemark } = await newTidemark();
      await tidemark.objects.push({ ...ada, objects: { x: { v: 1 }, y: { v: 2 } } });
      await Promise.all([
        tidemark.objects.push({ ...ada, objects: { x: { v: 1 }, y: { v: 1 } } }),
        tidemark.objects.push({ ...ada, objects: { x: { v: 2 }, y: { v: 2 } } }),
      ]);
      const after = await tidemark.objects.read(ada);
      expect(after.get('x')).toEqual(after.get('y'));
    }
  });

  it('[WRITE-17] a write begun for a deleted user is not applied to a new user with the same login', async () => {
    const { tidemark } = await newTidemark();
    const remake = async () => {
      await tidemark.users.delete('ada');
      await tidemark.users.create({ attributes: { login: 'ada', password: 'long enough' } });
    };
    const since = await tidemark.objects.head(ada);
    await remake();
    const late = tidemark.objects.replace({ ...ada, objects: { old: { secret: 1 } }, since });
    expect(await refusalOf(late)).toBe('refresh_stale');

    const store = overtaken(1, async () => {
      await other.tidemark.users.delete('ada');
      await other.tidemark.users.create({ attributes: { login: 'ada', password: 'long enough' } });
    });
    const other = await newTidemark({ store });
    expect(await refusalOf(other.tidemark.objects.fastInsert({ ...ada, objects: { old: { secret: 1 } } }))).toBe(
      'user_not_found',
    );
    expect(await other.tidemark.objects.read(ada)).toEqual(new Map());
  });

  it('[WRITE-13] a write that conflicts is retried a bounded number of times', async () => {
    let round = 0;
    const rival = (store: Store, commit: Commit) => {
      const change = { id: '1', record: `"1":{"round":${round++}}`, checksum: 5 };
      return store.commit({ partition: commit.partition, changes: [change], guards: [] });
    };
    const patient = await newTidemark({ store: overtaken(COMMIT_ATTEMPTS_MAX - 1, rival) });
    expect(await patient.tidemark.objects.push({ ...ada, objects: { 1: { a: 1 } } })).toMatchObject({ changed: 1 });
    expect(await patient.tidemark.objects.read(ada)).toEqual(
      new Map([['1', { a: 1, round: COMMIT_ATTEMPTS_MAX - 2 }]]),
    );
    const hopeless = await newTidemark({ store: overtaken(COMMIT_ATTEMPTS_MAX, rival) });
    expect(await refusalOf(hopeless.tidemark.objects.push({ ...ada, objects: { 1: { a: 1 } } }))).toBe(
      'write_conflict',
    );
  });
});

describe('replacing a whole document', () => {
  it('[WRITE-8] a replacement deletes missing objects and does not touch equal ones', async () => {
    const { tidemark, store } = await newTidemark();
    await tidemark.objects.push({ ...ada, objects: { 1: { a: 1 }, 2: { a: 2 }, 3: { a: 3 } } });
    const report = await tidemark.objects.replace({
      ...ada,
      objects: { 2: { a: 2 }, 3: { a: 9 }, 4: { a: 4 } },
      since: null,
    });
    expect(report).toEqual({ source: 'Order', user_id: 'ada', changed: 3, unchanged: 1, seq: 6 });
    expect(await tidemark.objects.read(ada)).toEqual(
      new Map([
        ['2', { a: 2 }],
        ['3', { a: 9 }],
        ['4', { a: 4 }],
      ]),
    );
    const { objects } = await store.readObjects(userPartition('Order', 'ada'), ['2']);
    expect(objects.get('2')?.seq).toBe(2);
  });

  it('[WRITE-9] a replacement never undoes a commit that was made after its query began', async () => {
    const { tidemark } = await newTidemark();
    await tidemark.objects.push({
      ...ada,
      objects: { changed: { a: 1 }, deleted: { a: 1 }, old: { a: 1 }, same: { a: 1 } },
    });
    const since = await tidemark.objects.head(ada);
    await tidemark.objects.push({ ...ada, objects: { changed: { a: 2 }, created: { a: 2 } } });
    await tidemark.objects.pushDeletes({ ...ada, objects: ['deleted'] });
    const answer = { changed: { a: 1 }, deleted: { a: 1 }, same: { a: 1 }, fresh: { a: 1 } };
    await tidemark.objects.replace({ ...ada, objects: answer, since });
    expect(await tidemark.objects.read(ada)).toEqual(
      new Map([
        ['same', { a: 1 }],
        ['changed', { a: 2 }],
        ['created', { a: 2 }],
        ['fresh', { a: 1 }],
      ]),
    );
  });

  it('[WRITE-10] a replacement whose query began before the floor is refused and changes nothing', async () => {
    const { tidemark, store } = await newTidemark();
    await tidemark.objects.push({ ...ada, objects: { 1: { a: 1 }, 2: { a: 1 } } });
    const since = await tidemark.objects.head(ada);
    await tidemark.objects.pushDeletes({ ...ada, objects: ['1'] });
    const { head } = await tidemark.objects.head(ada);
    await store.trim(userPartition('Order', 'ada'), head);
    expect(await refusalOf(tidemark.objects.replace({ ...ada, objects: { 1: { a: 1 } }, since }))).toBe(
      'refresh_stale',
    );
    await tidemark.users.delete('ada');
    await tidemark.users.create({ attributes: { login: 'ada', password: 'long enough' } });
    await tidemark.objects.push({ ...ada, objects: { 1: { a: 5 } } });
    expect(await refusalOf(tidemark.objects.replace({ ...ada, objects: { 1: { a: 1 } }, since }))).toBe(
      'refresh_stale',
    );
    expect(await tidemark.objects.read(ada)).toEqual(new Map([['1', { a: 5 }]]));
  });

  it('[WRITE-9] a replacement whose query began before the first write undoes no later write', async () => {
    const { tidemark } = await newTidemark();
    const since = await tidemark.objects.head(ada);
    await tidemark.objects.push({ ...ada, objects: { 1: { a: 1 } } });
    await tidemark.objects.replace({ ...ada, objects: { 1: { a: 0 }, 2: { a: 0 } }, since });
    expect(await tidemark.objects.read(ada)).toEqual(
      new Map([
        ['1', { a: 1 }],
        ['2', { a: 0 }],
      ]),
    );
  });

  it('[WRITE-14] a replacement that conflicts reads only the changes of the other write', async () => {
    const store = overtaken(1, (inner, { partition }) =>
      inner.commit({
        partition,
        guards: [],
        changes: [
          { id: '1', record: null, checksum: 0 },
          { id: '2', record: '"2":{"by":"rival"}', checksum: 3 },
          { id: 'new', record: '"new":{"by":"rival"}', checksum: 4 },
        ],
      }),
    );
    const { tidemark } = await newTidemark({ store });
    await tidemark.objects.replace({ ...ada, objects: { 1: { a: 1 }, 2: { a: 2 } }, since: null });
    expect(await tidemark.objects.read(ada)).toEqual(
      new Map([
        ['1', { a: 1 }],
        ['2', { a: 2 }],
      ]),
    );
  });

  it('[WRITE-15] documents of many slices are replaced completely', async () => {
    const { tidemark } = await newTidemark();
    const objects = (from: number, to: number, value: number) =>
      Object.fromEntries(Array.from({ length: to - from }, (_, index) => [`o${from + index}`, { value }]));
    await tidemark.objects.push({ ...ada, objects: objects(0, 5_000, 1) });
    const report = await tidemark.objects.replace({
      ...ada,
      objects: { ...objects(1_000, 3_000, 1), ...objects(3_000, 6_000, 2) },
      since: null,
    });
    expect(report).toMatchObject({ changed: 1_000 + 2_000 + 1_000, unchanged: 2_000 });
    const after = await tidemark.objects.read(ada);
    expect(after.size).toBe(5_000);
    expect([after.get('o999'), after.get('o1000'), after.get('o3000'), after.get('o5999')]).toEqual([
      undefined,
      { value: 1 },
      { value: 2 },
      { value: 2 },
    ]);
  });
});
