import { type LocalRow, type LocalStore, type LocalWrite, TABLES } from '@tidemark/client';
import { Rng } from '../random/rng.ts';
import { seededRandom } from '../random/seeded-random.ts';

/** A storage location for one device. */
export interface LocalStoreLocation {
  /** Opens the store, also after it was closed. */
  open(): Promise<LocalStore>;
  remove(): Promise<void>;
}

export interface LocalStoreEngine {
  /** True: data survives closing the store. */
  readonly isDurable: boolean;
  newPlace(): Promise<LocalStoreLocation>;
}

/** One promise of the local store port. `run` rejects if the engine breaks it, so any test runner can run it. */
export interface LocalStoreCase {
  readonly title: string;
  readonly run: (engine: LocalStoreEngine) => Promise<void>;
}

const AWKWARD = [
  '',
  'a',
  'a:b',
  '__proto__',
  'constructor',
  '\u0000',
  '"\n\\',
  'é',
  '😀',
  '\ud800',
  '0',
  '*',
  'x'.repeat(2_000),
];

/** The contract of a local store, case by case: register each as a test for your own store. */
export const localStoreCases: readonly LocalStoreCase[] = [
  {
    title: '[LOCAL-1] keys are pairs of texts and are returned unchanged, whatever they contain',
    run: inPlace(async (place) => {
      const store = await place.open();
      const writes = AWKWARD.flatMap((first) =>
        AWKWARD.map((second) => ({ table: 'objects', key: [first, second], value: { first, second } }) as const),
      );
      await store.commit(writes);
      await expectRows(store, writes);
      await store.close();
    }),
  },
  {
    title: '[LOCAL-2] values are JSON and are returned unchanged',
    run: inPlace(async (place) => {
      const store = await place.open();
      const values = [null, true, false, 0, -1.5, 2 ** 53 - 1, '', '\ud800', 'a\nb', [], {}, [[1], { constructor: 1 }]];
      const writes = values.map((value, index): LocalWrite => ({ table: 'facts', key: ['', String(index)], value }));
      await store.commit(writes);
      await expectRows(store, writes);
      await store.close();
    }),
  },
  {
    title: '[LOCAL-3] one commit may write to any tables, and of two writes to one key the later counts',
    run: inPlace(async (place) => {
      const store = await place.open();
      await store.commit(TABLES.map((table) => ({ table, key: ['s', 'k'], value: 1 })));
      await store.commit([
        { table: 'objects', key: ['s', 'k'], value: 2 },
        { table: 'objects', key: ['s', 'k'] },
        { table: 'links', key: ['s', 'k'] },
        { table: 'links', key: ['s', 'k'], value: 3 },
        { table: 'uploads', key: ['', 'never there'] },
      ]);
      const rest = TABLES.filter((table) => table !== 'objects' && table !== 'links');
      await expectRows(store, [...rest.map((table) => row(table, 's', 'k', 1)), row('links', 's', 'k', 3)]);
      await store.close();
    }),
  },
  {
    title: '[LOCAL-8] a commit that scrubs replaces and deletes like any other, and later commits go on from it',
    run: inPlace(async (place) => {
      const store = await place.open();
      await store.commit([row('objects', 's', 'a', 'old'), row('objects', 's', 'b', 'old'), row('facts', '', 'c', 1)]);
      await store.commit([{ table: 'objects', key: ['s', 'a'] }, row('objects', 's', 'b', 'new')], { scrubs: true });
      await expectRows(store, [row('objects', 's', 'b', 'new'), row('facts', '', 'c', 1)]);
      await store.commit([row('links', 's', 'd', 'later')]);
      const rows = [row('objects', 's', 'b', 'new'), row('facts', '', 'c', 1), row('links', 's', 'd', 'later')];
      await expectRows(store, rows);
      await store.close();
    }),
  },
  {
    title:
      '[LOCAL-11] if loading passes on rows before the objects, it does so once, and they are all rows of the other tables',
    run: inPlace(async (place) => {
      const store = await place.open();
      const others = [
        row('facts', '', 'c', 'new'),
        row('sources', '', 's', { token: null }),
        row('links', 's', 'd', 'e'),
      ];
      await store.commit([row('facts', '', 'c', 'old'), row('facts', '', 'gone', 1), row('objects', 's', 'a', 'x')]);
      await store.commit([...others, { table: 'facts', key: ['', 'gone'] }, row('objects', 's', 'b', 'y')]);
      const first: (readonly LocalRow[])[] = [];
      const all = await store.load((rows) => first.push(rows));
      expectSameRows(all, [...others, row('objects', 's', 'a', 'x'), row('objects', 's', 'b', 'y')]);
      if (first.length > 1) throw new Error('the store passed on its first rows more than once');
      for (const rows of first) expectSameRows(rows, others);
      await store.close();
    }),
  },
  {
    title: '[LOCAL-4] after close every call is refused, and closing again is no error',
    run: inPlace(async (place) => {
      const store = await place.open();
      await store.close();
      await store.close();
      await expectClosed(store.load());
      await expectClosed(store.commit([row('facts', '', 'x', 1)]));
    }),
  },
  {
    title: '[LOCAL-5] after any sequence of commits the store holds what a plain map would hold, also after reopening',
    run: inPlace(async (place, { isDurable }) => {
      const rng = new Rng(seededRandom(7));
      const oracle = new Map<string, LocalRow>();
      let store = await place.open();
      for (let round = 0; round < 60; round++) {
        const writes = drawWrites(rng);
        await store.commit(writes);
        applyWrites(oracle, writes);
        if (isDurable && rng.chance(20)) {
          await store.close();
          store = await place.open();
        }
        await expectRows(store, [...oracle.values()]);
      }
      await store.close();
    }),
  },
];

/** Runs a case in a new location, which is removed afterwards. */
function inPlace(run: (place: LocalStoreLocation, engine: LocalStoreEngine) => Promise<void>): LocalStoreCase['run'] {
  return async (engine) => {
    const place = await engine.newPlace();
    try {
      await run(place, engine);
    } finally {
      await place.remove();
    }
  };
}

async function expectRows(store: LocalStore, expected: readonly LocalWrite[]): Promise<void> {
  expectSameRows(await store.load(), expected);
}

function expectSameRows(rows: readonly LocalRow[], expected: readonly LocalWrite[]): void {
  const [found, wanted] = [sorted(rows), sorted(expected)];
  for (let index = 0; index < Math.max(found.length, wanted.length); index++) {
    if (found[index] !== wanted[index]) {
      throw new Error(`the store holds ${found[index] ?? 'no row'}, expected ${wanted[index] ?? 'no row'}`);
    }
  }
}

async function expectClosed(call: Promise<unknown>): Promise<void> {
  const code = await call.then(
    () => 'no error',
    (error: { readonly code?: unknown }) => error.code,
  );
  if (code !== 'closed') throw new Error(`a closed store answered with ${String(code)}, expected the code "closed"`);
}

function applyWrites(oracle: Map<string, LocalRow>, writes: readonly LocalWrite[]): void {
  for (const { table, key, value } of writes) {
    const name = JSON.stringify([table, key]);
    if (value === undefined) oracle.delete(name);
    else oracle.set(name, { table, key, value });
  }
}

function drawWrites(rng: Rng): readonly LocalWrite[] {
  return Array.from({ length: rng.between(0, 6) }, () => {
    const place = { table: rng.pick(TABLES), key: [rng.pick(['', 'a']), rng.pick(['x', 'y', 'z'])] } as const;
    return rng.chance(30) ? place : { ...place, value: rng.below(1_000) };
  });
}

function row(table: LocalRow['table'], first: string, second: string, value: LocalRow['value']): LocalRow {
  return { table, key: [first, second], value };
}

/** Rows as texts, in an order that does not depend on the store. */
function sorted(rows: readonly LocalWrite[]): readonly string[] {
  return rows.map(({ table, key, value }) => JSON.stringify([table, key, value])).sort();
}
