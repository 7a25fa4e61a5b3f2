import type { JournalRange, JournalSlice, ObjectsRead, PartitionKey, StoredObject } from '@tidemark/core/ports';
import { placeOf, requireName } from './keys.ts';
import { listArgs } from './lists.ts';
import { stateFrom } from './partitions.ts';
import type { Places } from './places.ts';
import { RECORD_HEADER_BYTES } from './records.ts';
import { bytesOf, numberOf, numbersOf, textsIn } from './reply.ts';
import { journalScript, objectsScript } from './scripts/read.ts';

export async function readObjects(places: Places, key: PartitionKey, ids: readonly string[]): Promise<ObjectsRead> {
  for (const id of ids) requireName(id);
  const [, state, seqs, lengths, bytes] = await places.read({
    place: placeOf(key),
    script: objectsScript,
    args: listArgs(ids),
  });
  const records = textsIn(bytesOf(bytes), numbersOf(lengths), RECORD_HEADER_BYTES);
  const objects = new Map<string, StoredObject>();
  let next = 0;
  for (const [index, seq] of numbersOf(seqs).entries()) {
    const id = ids[index] ?? '';
    if (seq > 0) objects.set(id, { seq, record: records[next++] ?? null });
    else if (seq < 0) objects.set(id, { seq: -seq, record: null });
  }
  return { state: await stateFrom(state, () => places.epoch()), objects };
}

export async function readJournal(places: Places, key: PartitionKey, range: JournalRange): Promise<JournalSlice> {
  const { after, tombstonesAfter, entriesMax, unitsMax } = range;
  if (entriesMax < 1) throw new Error('a slice has room for one entry at least');
  const reply = await places.read({
    place: placeOf(key),
    script: journalScript,
    args: [after, tombstonesAfter, entriesMax, unitsMax, ''],
  });
  const [, state, upTo, seqs, lengths, records, graveLengths, tombstones] = reply;
  return {
    state: await stateFrom(state, () => places.epoch()),
    records: textsIn(bytesOf(records), numbersOf(lengths), RECORD_HEADER_BYTES),
    seqs: numbersOf(seqs),
    tombstones: textsIn(bytesOf(tombstones), numbersOf(graveLengths)),
    upTo: numberOf(upTo),
  };
}
