import { canonicalJson } from '@tidemark/protocol';
import { difference, takeSnapshot } from '../model/objects.ts';
import type { ModelPartition } from '../model/partition.ts';
import { partitionText } from '../model/partition.ts';
import { demand } from '../runner/violation.ts';
import type { HistoryRun } from './history-run.ts';
import { PARTITIONS } from './partitions.ts';

/** Checks that md of the partitions written since the last check is what the oracle says, object by object. */
export async function checkWritten(run: HistoryRun): Promise<void> {
  for (const partition of run.takeWritten()) {
    await checkDocument(run, partition);
    await checkStatus(run, partition);
  }
}

/** Checks that size and checksum of every partition are what the oracle says, even where nobody wrote. */
export async function checkEverywhere(run: HistoryRun): Promise<void> {
  for (const partition of PARTITIONS) run.forgetStatus(partition);
  await Promise.all(PARTITIONS.map((partition) => checkStatus(run, partition)));
}

export async function checkAllDocuments(run: HistoryRun): Promise<void> {
  for (const partition of PARTITIONS) run.markWritten(partition);
  await checkWritten(run);
}

async function checkStatus(run: HistoryRun, partition: ModelPartition): Promise<void> {
  const status = await run.status(partition);
  const expected = run.oracle.snapshot(partition);
  demand(
    status.size === expected.size && status.checksum === expected.checksum,
    'SIM-1',
    () =>
      `${partitionText(partition)} reports size ${status.size}, checksum ${status.checksum}; ` +
      `the oracle has ${expected.size}, ${expected.checksum}`,
  );
  demand(status.floor <= status.head, 'SIM-1', () => `floor ${status.floor} above head ${status.head}`);
}

async function checkDocument(run: HistoryRun, partition: ModelPartition): Promise<void> {
  const texts = await readTexts(run, partition);
  const names = { actual: 'md', expected: 'the oracle' };
  const found = difference(texts, run.oracle.snapshot(partition).texts, names);
  demand(found === null, 'SIM-1', () => `${partitionText(partition)}: ${found}`);
}

/** Returns md as the server reads it, in comparable form. */
export async function readTexts(run: HistoryRun, partition: ModelPartition): Promise<ReadonlyMap<string, string>> {
  const read = await run.server.readObjects(partition);
  const objects = [...read].map(([id, object]): [string, Map<string, string>] => [
    id,
    new Map(Object.entries(object).map(([name, value]) => [name, canonicalJson(value)])),
  ]);
  return takeSnapshot(new Map(objects)).texts;
}
