import { isDeepStrictEqual } from 'node:util';
import type { DiskPart, LocalStore, LocalWrite, Scan, StoredObject } from '@tidemark/client';
import { type LocalStoreEngine, Rng, seededRandom } from '@tidemark/client-testing';
import {
  addChecksums,
  attributesChecksum,
  type JsonValue,
  keysBelow,
  keysOf,
  keysWithPrefix,
  parsePath,
  sortKey,
  valueAt,
} from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';

type Attributes = Readonly<Record<string, JsonValue>>;

const [PART, OWNERS] = ['Part', 'Part\u001e'];
const ofGroup = (group: string) => `Part\u001f${group}`;
const IDS = ['a', 'b', 'c!', '!d', "e'", 'é', '\ue000', '\uffff', '😀', '\u{10ffff}', '*', 'constructor', 'Z', 'aa'];
const VALUES: readonly JsonValue[] = [
  null,
  true,
  false,
  0,
  1,
  1.5,
  -2,
  'x',
  'xy',
  '\0',
  'ü',
  '😀',
  '\uffee',
  [1],
  { n: 1 },
];
const PATH = 'deep.value';

type ReopenStore = () => Promise<LocalStore>;

/** Registers the contract of a store that keeps objects on the disk. */
export function diskPartContract(name: string, engine: LocalStoreEngine): void {
  describe(`${name} keeps the contract of a store with objects on the disk`, () => {
    for (const [title, run] of CASES) {
      it(title, async () => {
        const place = await engine.newPlace();
        let store = await place.open();
        try {
          await run(store, async () => {
            await store.close();
            store = await place.open();
            return store;
          });
        } finally {
          await store.close();
          await place.remove();
        }
      });
    }
  });
}

const CASES: readonly (readonly [title: string, run: (store: LocalStore, reopen: ReopenStore) => Promise<void>])[] = [
  [
    '[DISK-2] load leaves out the objects of a source, of its groups and their owners, and nothing else',
    async (store) => {
      const firsts = [PART, OWNERS, ofGroup('north'), 'Part2', 'Par', 'Part two', 'part'];
      await store.commit([
        ...firsts.map((first) => put(first, 'a', { n: 1 })),
        { table: 'sources', key: ['', PART], value: 1 },
      ]);
      const found = async (without: readonly string[]) =>
        (await diskOf(store).load(() => without)).map(({ table, key }) => `${table} ${key[0]}`).toSorted();
      const left = ['Par', 'Part two', 'Part2', 'part'].map((first) => `objects ${first}`);
      expect(await found([PART])).toEqual([...left, 'sources ']);
      expect((await found([])).length).toBe(firsts.length + 1);
      expect(await found(['part', PART, 'Part two', 'none', 'Par'])).toEqual(['objects Part2', 'sources ']);
    },
  ],
  [
    '[DISK-2] objects are read by their keys, scanned by id or by an index, counted and measured as a model says, after any writes',
    async (store, reopen) => {
      for (const seed of [1, 2, 3]) await followModel(store, reopen, new Rng(seededRandom(seed)));
    },
  ],
  [
    '[DISK-2] the objects of a source are made anew from those of its groups: of several the first one counts',
    async (store) => {
      const disk = diskOf(store);
      const groups = ['b', 'a', '\uffff', '😀'].toSorted();
      await disk.addIndex(PART, 'n');
      const ofGroups = groups.flatMap((group, n) => [
        put(ofGroup(group), 'shared', { n }),
        put(ofGroup(group), `own-${n}`, { n }),
      ]);
      await store.commit([put(PART, 'gone', { n: 0 }), put(OWNERS, 'gone', { groups: ['a'] }), ...ofGroups]);
      const union = { first: PART, owners: OWNERS, groups: groups.map((group) => [group, ofGroup(group)] as const) };
      await store.commit([put(ofGroup('a'), 'late', { n: 9 })], { disk: { drops: [], moves: [], unions: [union] } });
      const whole = { first: PART, path: null, range: null, isDescending: false, after: null, skip: 0, limit: 99 };
      const objects = Object.fromEntries(await disk.scan(whole));
      const own = Object.fromEntries(groups.map((_, n) => [`own-${n}`, { n }]));
      expect(objects).toEqual({ ...own, late: { n: 9 }, shared: { n: 0 } });
      const owners = ['shared', 'own-1', 'gone'].map((id) => [OWNERS, id] as const);
      expect(await disk.read(owners)).toEqual([{ groups }, { groups: [groups[1]] }, undefined]);
      expect(await disk.measure(PART)).toEqual(measureOf(Object.entries(objects) as [string, Attributes][]));
      expect((await disk.scan({ ...whole, path: 'n', range: keysOf(9) })).map(([id]) => id)).toEqual(['late']);
    },
  ],
  [
    '[DISK-2] load tells every row of the other tables before it asks which sources to leave out',
    async (store) => {
      await store.commit([put(PART, 'a', { n: 1 }), { table: 'facts', key: ['', 'kept'], value: [PART] }]);
      const rows = await diskOf(store).load((others) => {
        const fact = others.find(({ table, key }) => table === 'facts' && key[1] === 'kept');
        return fact?.value as readonly string[];
      });
      expect(rows.map(({ table }) => table)).toEqual(['facts']);
    },
  ],
  [
    '[DISK-2] objects that are moved take the place of others, with their index and their checksums',
    async (store) => {
      const disk = diskOf(store);
      const aside = ofGroup('aside');
      await disk.addIndex(PART, 'n');
      await store.commit([put(PART, 'a', { n: 1 }), put(PART, 'b', { n: 2 }), put(aside, 'b', { n: 3 })]);
      await store.commit([put(aside, 'c', { n: 4 })], { disk: { drops: [], moves: [[aside, PART]], unions: [] } });
      const byIndex = { first: PART, path: 'n', range: null, isDescending: true, after: null, skip: 0, limit: 99 };
      const moved: [string, Attributes][] = [
        ['c', { n: 4 }],
        ['b', { n: 3 }],
      ];
      expect(await disk.scan(byIndex)).toEqual(moved);
      expect(await disk.measure(PART)).toEqual(measureOf(moved));
      expect(await disk.count({ first: aside, path: null, range: null }, 9)).toBe(0);
    },
  ],
  [
    '[DISK-2] a commit that fails leaves the objects and the measure as they were',
    async (store) => {
      const disk = diskOf(store);
      await store.commit([put(PART, 'a', { n: 1 })]);
      const before = await disk.measure(PART);
      // A value that is not JSON is a bug that no store can write.
      const broken = put(PART, 'b', 1n as unknown as JsonValue);
      await expect(store.commit([broken], { disk: { drops: [PART], moves: [], unions: [] } })).rejects.toThrow();
      expect(await disk.measure(PART)).toEqual(before);
      expect(await disk.read([[PART, 'a']])).toEqual([{ n: 1 }]);
    },
  ],
];

function diskOf({ disk }: LocalStore): DiskPart {
  if (disk === undefined) throw new Error('the store has no disk part');
  return disk;
}

function put(first: string, id: string, value: JsonValue): LocalWrite {
  return { table: 'objects', key: [first, id], value };
}

const ROUNDS = 12;
const INDEXED_FROM = 4;

/** Makes random commits, and compares what the store says with a model after each of them. */
async function followModel(given: LocalStore, reopen: ReopenStore, rng: Rng): Promise<void> {
  let store = given.disk === undefined ? given : await reopen();
  const model = new Map<string, Attributes>();
  await store.commit([], { disk: { drops: 'all', moves: [], unions: [] } });
  for (let round = 0; round < ROUNDS; round++) {
    const writes = Array.from({ length: rng.below(8) }, () => drawWrite(rng));
    const isDropped = rng.chance(8);
    if (isDropped) model.clear();
    for (const { key, value } of writes) {
      if (value === undefined) model.delete(key[1]);
      else model.set(key[1], value as Attributes);
    }
    await store.commit(writes, isDropped ? { disk: { drops: [PART], moves: [], unions: [] } } : {});
    if (round === INDEXED_FROM) await diskOf(store).addIndex(PART, PATH);
    if (rng.chance(20)) store = await reopen();
    await expectEqual(diskOf(store), model, rng, round >= INDEXED_FROM);
  }
}

function drawWrite(rng: Rng): LocalWrite {
  const id = rng.pick(IDS);
  if (rng.chance(25)) return { table: 'objects', key: [PART, id] };
  return put(PART, id, { deep: rng.chance(80) ? { value: rng.pick(VALUES) } : 1 });
}

async function expectEqual(disk: DiskPart, model: ReadonlyMap<string, Attributes>, rng: Rng, hasIndex: boolean) {
  const keys = IDS.map((id) => [PART, id] as const);
  expect(await disk.read(keys)).toEqual(IDS.map((id) => model.get(id)));
  expect(await disk.measure(PART)).toEqual(measureOf([...model]));
  for (let drawn = 0; drawn < 6; drawn++) {
    const path = hasIndex && rng.chance(70) ? PATH : null;
    const operand = rng.pick(VALUES);
    const range =
      path === null ? null : rng.pick([null, keysOf(operand), keysBelow(operand, rng.chance(50)), keysWithPrefix('x')]);
    const skip = rng.below(4);
    const scan = {
      first: PART,
      path,
      range,
      isDescending: rng.chance(50),
      after: null,
      skip,
      limit: rng.between(1, 20),
    };
    const whole = sorted(model, scan);
    const found = await disk.scan(scan);
    const wanted = whole.slice(skip, skip + scan.limit);
    if (!isDeepStrictEqual(found, wanted)) expect({ scan, found }).toEqual({ scan, found: wanted });
    const last = found.at(-1);
    if (last !== undefined) {
      const after = { key: keyOf(last), id: last[0] };
      const behind = whole.slice(skip + found.length, skip + found.length + 3);
      expect(await disk.scan({ ...scan, after, skip: 0, limit: 3 })).toEqual(behind);
    }
    expect(await disk.count(scan, 3)).toBe(Math.min(3, whole.length));
    expect(await disk.count(scan, Number.POSITIVE_INFINITY)).toBe(whole.length);
  }
}

function sorted(model: ReadonlyMap<string, Attributes>, { path, range, isDescending }: Scan): readonly StoredObject[] {
  const sign = isDescending ? -1 : 1;
  const byId = ([left]: StoredObject, [right]: StoredObject) => (left < right ? -1 : 1);
  if (path === null) return [...model].sort((left, right) => byId(left, right) * sign);
  return [...model]
    .filter((object) => range === null || (bytes(range.from, keyOf(object)) <= 0 && bytes(keyOf(object), range.to) < 0))
    .sort((left, right) => bytes(keyOf(left), keyOf(right)) * sign || byId(left, right));
}

function keyOf([, attributes]: StoredObject): string {
  return sortKey(valueAt(attributes as Attributes, parsePath(PATH)));
}

function bytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

function measureOf(objects: readonly (readonly [string, Attributes])[]) {
  const checksums = objects.map(([id, attributes]) => attributesChecksum(id, attributes));
  return { size: objects.length, checksum: checksums.reduce(addChecksums, 0) };
}
