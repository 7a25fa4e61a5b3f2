import { newTidemark, openMemoryStore, seededRandom } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { MovableStore, Piece } from '../ports/moving.ts';
import { userPartition } from '../ports/owner.ts';
import { type MoveProgress, moveStore } from './move-store.ts';
import { compareKeys, pieceKey } from './piece-key.ts';

/** A store with a few objects, a device and a document. */
async function populated(): Promise<MovableStore> {
  const store = openMemoryStore({ random: seededRandom(1) });
  const { tidemark } = await newTidemark({ store });
  const objects = { a: { n: 1 }, b: { n: 2 }, c: { n: 3 } };
  await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects });
  const mark = { client: 'c1', epoch: 'e', seq: 2, base: 2, start: null, seenAtMs: 5 };
  await store.noteTidemark(userPartition('Order', 'ada'), mark, []);
  return store;
}

const target = () => openMemoryStore({ random: seededRandom(9) });

/** The same store, but what it is given is changed on the way. */
function spoiled(store: MovableStore, spoil: (piece: Piece) => readonly Piece[]): MovableStore {
  return new Proxy(store, {
    get(sound, name) {
      if (name === 'import') return (pieces: readonly Piece[]) => sound.import(pieces.flatMap(spoil));
      const value: unknown = Reflect.get(sound, name);
      return typeof value === 'function' ? value.bind(sound) : value;
    },
  });
}

describe('moving a store', () => {
  it('[MIGRATE-1] a migration copies, compares, marks the source as moved and opens the target, in this order', async () => {
    const [from, to] = [await populated(), target()];
    await to.setMigrationState({ state: 'incomplete' });
    const phases: MoveProgress['phase'][] = [];
    const report = await moveStore({ from, to, toName: 'there', onProgress: ({ phase }) => phases.push(phase) });
    expect(report).toMatchObject({ status: 'moved' });
    expect(report.status === 'moved' && report.census.get('record')).toBe(3);
    expect([await from.migrationState(), await to.migrationState()]).toEqual([{ state: 'moved', to: 'there' }, null]);
    expect(phases[0]).toBe('copying');
  });

  const faults: readonly (readonly [string, (piece: Piece) => readonly Piece[], RegExp])[] = [
    [
      'a changed object',
      (piece) =>
        piece.what === 'record' && piece.id === 'b' ? [{ ...piece, record: piece.record.replace('2', '7') }] : [piece],
      /object "b" at 2 differs in record/,
    ],
    ['a lost object', (piece) => (piece.what === 'record' && piece.id === 'b' ? [] : [piece]), /object "b" at 2/],
    [
      'another head',
      (piece) => (piece.what === 'partition' ? [{ ...piece, state: { ...piece.state, head: 9 } }] : [piece]),
      /partition differs in head \(3, found 9\)/,
    ],
    [
      'another checksum',
      (piece) => (piece.what === 'partition' ? [{ ...piece, state: { ...piece.state, checksum: 9 } }] : [piece]),
      /partition differs in checksum .*found 9/,
    ],
    ['a lost tidemark', (piece) => (piece.what === 'tidemark' ? [] : [piece]), /^tidemark$/],
    [
      'another version',
      (piece) => (piece.what === 'entry' && piece.key[0] === 'user' ? [{ ...piece, version: 99 }] : [piece]),
      /user entry differs in version \(\d+, found 99\)/,
    ],
  ];

  it.each(faults)(
    '[MIGRATE-8] %s in the target is reported, and the states of source and target do not change',
    async (_, spoil, named) => {
      const [from, to] = [await populated(), target()];
      await to.setMigrationState({ state: 'incomplete' });
      const report = await moveStore({ from, to: spoiled(to, spoil), toName: 'there' });
      const details = report.status === 'differs' ? report.differences.map(({ detail }) => detail) : [];
      expect(details).toContainEqual(expect.stringMatching(named));
      expect([await from.migrationState(), await to.migrationState()]).toEqual([null, { state: 'incomplete' }]);
    },
  );

  it('[MIGRATE-8] a migration fails when the source was written to during the copy', async () => {
    const [from, to] = [await populated(), target()];
    let isWritten = false;
    const meddled = spoiled(to, (piece) => {
      if (!isWritten) void from.writeEntries({ writes: [{ kind: 'setting', key: ['late'], value: '1' }], guards: [] });
      isWritten = true;
      return [piece];
    });
    const report = await moveStore({ from, to: meddled, toName: 'there' });
    expect(report).toMatchObject({
      status: 'differs',
      differences: [{ problem: 'missing', where: [1, 'setting', 'late'] }],
    });
    expect(await from.migrationState()).toBeNull();
  });

  it('[MIGRATE-8] a migration fails when sizes and checksums of the source do not match its records', async () => {
    const [from, between, to] = [await populated(), target(), target()];
    await between.beginImport(await from.head());
    for await (const portion of from.export((record) => ({ id: record, checksum: 0 }))) {
      const pieces = portion.map((piece): Piece => {
        if (piece.what === 'record') return { ...piece, id: (['', 'a', 'b', 'c'] as const)[piece.seq] ?? '' };
        return piece.what === 'partition' ? { ...piece, state: { ...piece.state, size: 4 } } : piece;
      });
      await between.import(pieces);
    }
    const report = await moveStore({ from: between, to, toName: 'there' });
    const details = report.status === 'differs' ? report.differences.map(({ detail }) => detail) : [];
    expect(details).toContain('partition has size 4, its records give 3');
  });
});

it('[MIGRATE-2] pieces are ordered by the bytes of their names', () => {
  const keys = ['a', 'a b', 'b', 'é', '\uffee', '\u{1f600}'].map((name) =>
    pieceKey({ what: 'entry', key: ['user', name], value: '', version: 1 }),
  );
  expect([...keys].reverse().sort(compareKeys)).toEqual(keys);
  expect(compareKeys(['a'], ['a', 1])).toBeLessThan(0);
  expect(compareKeys([10], [9])).toBeGreaterThan(0);
});
