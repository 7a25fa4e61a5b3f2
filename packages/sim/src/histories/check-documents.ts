import { canonicalJson } from '@tidemark/protocol';
import { difference, takeSnapshot } from '../model/objects.ts';
import type { ModelPartition } from '../model/partition.ts';
import { partitionText } from '../model/partition.ts';
import { demand } from '../runner/violation.ts';
import { PARTITIONS } from './partitions.ts';
import type { World } from './world.ts';

/** Checks that md of the partitions written since the last check is what the oracle says, object by object. */
export async function checkWritten(world: World): Promise<void> {
  for (const partition of world.takeWritten()) {
    await checkDocument(world, partition);
    await checkStatus(world, partition);
  }
}

/** Checks that size and checksum of every partition are what the oracle says, even where nobody wrote. */
export async function checkEverywhere(world: World): Promise<void> {
  for (const partition of PARTITIONS) world.forgetStatus(partition);
  await Promise.all(PARTITIONS.map((partition) => checkStatus(world, partition)));
}

export async function checkAllDocuments(world: World): Promise<void> {
  for (const partition of PARTITIONS) world.markWritten(partition);
  await checkWritten(world);
}

async function checkStatus(world: World, partition: ModelPartition): Promise<void> {
  const status = await world.status(partition);
  const expected = world.oracle.snapshot(partition);
  demand(
    status.size === expected.size && status.checksum === expected.checksum,
    'SIM-1',
    () =>
      `${partitionText(partition)} reports size ${status.size}, checksum ${status.checksum}; ` +
      `the oracle has ${expected.size}, ${expected.checksum}`,
  );
  demand(status.floor <= status.head, 'SIM-1', () => `floor ${status.floor} above head ${status.head}`);
}

async function checkDocument(world: World, partition: ModelPartition): Promise<void> {
  const texts = await readTexts(world, partition);
  const names = { actual: 'md', expected: 'the oracle' };
  const found = difference(texts, world.oracle.snapshot(partition).texts, names);
  demand(found === null, 'SIM-1', () => `${partitionText(partition)}: ${found}`);
}

/** Returns md as the server reads it, in comparable form. */
export async function readTexts(world: World, partition: ModelPartition): Promise<ReadonlyMap<string, string>> {
  const read = await world.server.readObjects(partition);
  const objects = [...read].map(([id, object]): [string, Map<string, string>] => [
    id,
    new Map(Object.entries(object).map(([name, value]) => [name, canonicalJson(value)])),
  ]);
  return takeSnapshot(new Map(objects)).texts;
}
