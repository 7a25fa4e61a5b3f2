import { canonicalJson } from '@tidemark/protocol';
import { PLACES, type Place, placeKey } from './place.ts';
import { difference, takeSnapshot } from './snapshot.ts';
import { demand } from './violation.ts';
import type { World } from './world.ts';

/** md of the partitions just written to is what the oracle says, object by object. */
export async function checkWritten(world: World): Promise<void> {
  for (const place of world.takeWritten()) {
    await checkDocument(world, place);
    await checkState(world, place);
  }
}

/** Size and checksum of every partition are what the oracle says, also where nobody has written. */
export async function checkEverywhere(world: World): Promise<void> {
  for (const place of PLACES) world.doubtState(place);
  await Promise.all(PLACES.map((place) => checkState(world, place)));
}

export async function checkAllDocuments(world: World): Promise<void> {
  for (const place of PLACES) world.noteWrite(place);
  await checkWritten(world);
}

async function checkState(world: World, place: Place): Promise<void> {
  const state = await world.state(place);
  const expected = world.oracle.snapshot(place);
  demand(
    state.size === expected.size && state.checksum === expected.checksum,
    'SIM-1',
    () =>
      `${placeKey(place)} says size ${state.size}, checksum ${state.checksum}; ` +
      `counted and computed: ${expected.size}, ${expected.checksum}`,
  );
  demand(state.floor <= state.head, 'SIM-1', () => `floor ${state.floor} above head ${state.head}`);
}

async function checkDocument(world: World, place: Place): Promise<void> {
  const texts = await readTexts(world, place);
  const words = { actual: 'md', expected: 'the oracle' };
  const found = difference(texts, world.oracle.snapshot(place).texts, words);
  demand(found === null, 'SIM-1', () => `${placeKey(place)}: ${found}`);
}

/** md as the server tells it, in comparable form. */
export async function readTexts(world: World, place: Place): Promise<ReadonlyMap<string, string>> {
  const read = await world.subject.readObjects(place);
  const objects = [...read].map(([id, object]): [string, Map<string, string>] => [
    id,
    new Map(Object.entries(object).map(([name, value]) => [name, canonicalJson(value)])),
  ]);
  return takeSnapshot(new Map(objects)).texts;
}
