import { type LocalRow, type LocalStore, type LocalWrite, TABLES } from '@tidemark/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Dice } from '../kit/dice.ts';
import { seededRandom } from '../kit/seeded-random.ts';

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

/** Registers the contract of the local store port for one store. */
export function localStoreContract(name: string, engine: LocalStoreEngine): void {
  describe(`${name} keeps the contract of a local store`, () => {
    it('[LOCAL-1] keys are pairs of texts and are returned unchanged, whatever they contain', async () => {
      const place = await newPlace(engine);
      const store = await place.open();
      const writes = AWKWARD.flatMap((first) =>
        AWKWARD.map((second) => ({ table: 'objects', key: [first, second], value: { first, second } }) as const),
      );
      await store.commit(writes);
      expect(sorted(await store.load())).toEqual(sorted(writes));
      await store.close();
    });

    it('[LOCAL-2] values are JSON and are returned unchanged', async () => {
      const place = await newPlace(engine);
      const store = await place.open();
      const values = [null, true, false, 0, -1.5, 2 ** 53 - 1, '', '\ud800', 'a\nb', [], {}, [[1], { constructor: 1 }]];
      const writes = values.map((value, index): LocalWrite => ({ table: 'facts', key: ['', String(index)], value }));
      await store.commit(writes);
      expect(sorted(await store.load())).toEqual(sorted(writes));
      await store.close();
    });

    it('[LOCAL-3] one commit may write to any tables, and of two writes to one key the later counts', async () => {
      const place = await newPlace(engine);
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
      const expected = [...rest.map((table) => row(table, 's', 'k', 1)), row('links', 's', 'k', 3)];
      expect(sorted(await store.load())).toEqual(sorted(expected));
      await store.close();
    });

    it('[LOCAL-4] after close every call is refused, and closing again is no error', async () => {
      const place = await newPlace(engine);
      const store = await place.open();
      await store.close();
      await store.close();
      await expect(store.load()).rejects.toMatchObject({ code: 'closed' });
      await expect(store.commit([row('facts', '', 'x', 1)])).rejects.toMatchObject({ code: 'closed' });
    });

    it('[LOCAL-5] after any sequence of commits the store holds what a plain map would hold, also after reopening', async () => {
      const place = await newPlace(engine);
      const dice = new Dice(seededRandom(7));
      const oracle = new Map<string, LocalRow>();
      let store = await place.open();
      for (let round = 0; round < 60; round++) {
        const writes = drawWrites(dice);
        await store.commit(writes);
        applyWrites(oracle, writes);
        if (engine.isDurable && dice.chance(20)) {
          await store.close();
          store = await place.open();
        }
        expect(sorted(await store.load())).toEqual(sorted([...oracle.values()]));
      }
      await store.close();
    });
  });
}

async function newPlace(engine: LocalStoreEngine): Promise<LocalStoreLocation> {
  const place = await engine.newPlace();
  onTestFinished(() => place.remove());
  return place;
}

function applyWrites(oracle: Map<string, LocalRow>, writes: readonly LocalWrite[]): void {
  for (const { table, key, value } of writes) {
    const name = JSON.stringify([table, key]);
    if (value === undefined) oracle.delete(name);
    else oracle.set(name, { table, key, value });
  }
}

function drawWrites(dice: Dice): readonly LocalWrite[] {
  return Array.from({ length: dice.between(0, 6) }, () => {
    const place = { table: dice.pick(TABLES), key: [dice.pick(['', 'a']), dice.pick(['x', 'y', 'z'])] } as const;
    return dice.chance(30) ? place : { ...place, value: dice.below(1_000) };
  });
}

function row(table: LocalRow['table'], first: string, second: string, value: LocalRow['value']): LocalRow {
  return { table, key: [first, second], value };
}

function sorted(rows: readonly LocalWrite[]): readonly LocalWrite[] {
  const nameOf = ({ table, key }: LocalWrite) => JSON.stringify([table, key]);
  return [...rows].sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
}
