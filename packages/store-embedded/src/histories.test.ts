import type { Change, JournalRange, Store } from '@tidemark/core';
import { inspectRecord, sharedPartition } from '@tidemark/core';
import { openMemoryStore, Rng, seededRandom, temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { openEmbeddedStore } from './open-store.ts';

const PARTITION = sharedPartition('s');
const STEPS = 40;
const HISTORIES = process.env.TIDEMARK_LONG_TESTS === '1' ? 40 : 2;
const OBJECTS_MAX = 600;

/** A record of random size in one of the given letters. */
function changeOf(id: string, rng: Rng, letters: readonly string[]): Change {
  const marks = rng.chance(10) ? '\n[1,{}]' : '';
  const record = `"${id}":{"text":"${rng.pick(letters).repeat(rng.between(1, 250))}"}${marks}`;
  return { id, record, checksum: inspectRecord(record).checksum };
}

/** Sometimes many neighbouring objects at once, otherwise a few here and there. */
function changesOf(rng: Rng, letters: readonly string[]): readonly Change[] {
  const count = rng.chance(30) ? rng.between(1, OBJECTS_MAX) : rng.between(1, 12);
  const from = rng.below(OBJECTS_MAX);
  const ids = new Set(
    Array.from({ length: count }, (_, n) => `o${count > 12 ? from + n : rng.below(2 * OBJECTS_MAX)}`),
  );
  const isForgetful = rng.chance(20);
  return [...ids].map((id) => {
    const isDeleted = isForgetful ? rng.chance(80) : rng.chance(5);
    return isDeleted ? { id, record: null, checksum: 0 } : changeOf(id, rng, letters);
  });
}

function rangeOf(rng: Rng, head: number): JournalRange {
  const after = rng.chance(30) ? 0 : rng.below(head + 1);
  const entriesMax = rng.chance(50) ? 10_000 : rng.between(1, 400);
  return {
    after,
    tombstonesAfter: rng.pick([0, after, head]),
    entriesMax,
    unitsMax: rng.pick([1, 5_000, 50_000, 1e9]),
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
    const rng = new Rng(seededRandom(seed));
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const [embedded, plain] = [
      await openEmbeddedStore({ folder: folder.path }),
      openMemoryStore({ random: seededRandom(seed) }),
    ];
    const letters = rng.chance(50) ? ['x'] : ['x', 'é', '😀'];
    for (let step = 0; step < STEPS; step++) {
      const changes = changesOf(rng, letters);
      const [ours, theirs] = await Promise.all(
        [embedded, plain].map((store) => store.commit({ partition: PARTITION, changes, guards: [] })),
      );
      expect([ours?.status, theirs?.status]).toEqual(['committed', 'committed']);
      const { head } = await plain.partition(PARTITION);
      for (let look = 0; look < 3; look++) {
        const range = rangeOf(rng, head);
        expect(await readEverything(embedded, range), `seed ${seed}, step ${step}`).toEqual(
          await readEverything(plain, range),
        );
      }
      const ids = Array.from({ length: rng.between(1, 40) }, () => `o${rng.below(2 * OBJECTS_MAX)}`);
      const [found, expected] = await Promise.all([embedded, plain].map((store) => store.readObjects(PARTITION, ids)));
      expect(found?.objects, `seed ${seed}, step ${step}`).toEqual(expected?.objects);
    }
    for await (const finding of embedded.verify(inspectRecord)) expect(finding).toBeUndefined();
    await embedded.close();
  }
});
