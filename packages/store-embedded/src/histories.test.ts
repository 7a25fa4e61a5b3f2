import type { Change, JournalRange, Store } from '@tidemark/core';
import { inspectRecord, sharedPartition } from '@tidemark/core';
import { Dice, openMemoryStore, seededRandom, temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { openEmbeddedStore } from './open-store.ts';

const PARTITION = sharedPartition('s');
const STEPS = 40;
const HISTORIES = process.env.TIDEMARK_LONG_TESTS === '1' ? 40 : 4;
const OBJECTS_MAX = 600;

/** A record of random size in one of the given letters. */
function changeOf(id: string, dice: Dice, letters: readonly string[]): Change {
  const marks = dice.chance(10) ? '\n[1,{}]' : '';
  const record = `"${id}":{"text":"${dice.pick(letters).repeat(dice.between(1, 250))}"}${marks}`;
  return { id, record, checksum: inspectRecord(record).checksum };
}

/** Sometimes many neighbouring objects at once, otherwise a few here and there. */
function changesOf(dice: Dice, letters: readonly string[]): readonly Change[] {
  const count = dice.chance(30) ? dice.between(1, OBJECTS_MAX) : dice.between(1, 12);
  const from = dice.below(OBJECTS_MAX);
  const ids = new Set(
    Array.from({ length: count }, (_, n) => `o${count > 12 ? from + n : dice.below(2 * OBJECTS_MAX)}`),
  );
  const isForgetful = dice.chance(20);
  return [...ids].map((id) => {
    const isDeleted = isForgetful ? dice.chance(80) : dice.chance(5);
    return isDeleted ? { id, record: null, checksum: 0 } : changeOf(id, dice, letters);
  });
}

function rangeOf(dice: Dice, head: number): JournalRange {
  const after = dice.chance(30) ? 0 : dice.below(head + 1);
  const entriesMax = dice.chance(50) ? 10_000 : dice.between(1, 400);
  return {
    after,
    tombstonesAfter: dice.pick([0, after, head]),
    entriesMax,
    unitsMax: dice.pick([1, 5_000, 50_000, 1e9]),
  };
}

async function readEverything(store: Store, range: JournalRange) {
  const { state, ...slice } = await store.readJournal(PARTITION, range);
  const { records, count, tombstones, upTo } = await store.readJoined(PARTITION, range);
  return {
    state: { head: state.head, size: state.size, checksum: state.checksum },
    slice,
    joined: { text: Buffer.from(records).toString(), count, tombstones, upTo },
  };
}

it('[RUN-9] a random history reads the same from runs as from a store that keeps every record apart', async () => {
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const dice = new Dice(seededRandom(seed));
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const [embedded, plain] = [
      await openEmbeddedStore({ folder: folder.path }),
      openMemoryStore({ random: seededRandom(seed) }),
    ];
    const letters = dice.chance(50) ? ['x'] : ['x', 'é', '😀'];
    for (let step = 0; step < STEPS; step++) {
      const changes = changesOf(dice, letters);
      const [ours, theirs] = await Promise.all(
        [embedded, plain].map((store) => store.commit({ partition: PARTITION, changes, guards: [] })),
      );
      expect([ours?.status, theirs?.status]).toEqual(['committed', 'committed']);
      const { head } = await plain.partition(PARTITION);
      for (let look = 0; look < 3; look++) {
        const range = rangeOf(dice, head);
        expect(await readEverything(embedded, range), `seed ${seed}, step ${step}`).toEqual(
          await readEverything(plain, range),
        );
      }
      const ids = Array.from({ length: dice.between(1, 40) }, () => `o${dice.below(2 * OBJECTS_MAX)}`);
      const [found, expected] = await Promise.all([embedded, plain].map((store) => store.readObjects(PARTITION, ids)));
      expect(found?.objects, `seed ${seed}, step ${step}`).toEqual(expected?.objects);
    }
    for await (const finding of embedded.verify(inspectRecord)) expect(finding).toBeUndefined();
    await embedded.close();
  }
});
