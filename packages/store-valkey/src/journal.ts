import {
  type Change,
  type Commit,
  isSameState,
  type JoinedSlice,
  type JournalRange,
  type JournalStore,
  joinedSlice,
  type PartitionKey,
  type PartitionState,
  readCommitTimes,
  type StoredObject,
  scopeOf,
} from '@tidemark/core/ports';
import { changedSince } from './changes.ts';
import { JoinedRecords } from './joined-records.ts';
import { requireName } from './keys.ts';
import { newId } from './meta.ts';
import { noteValues, requireSoundNotes } from './notes.ts';
import { listPartitions, stateFrom } from './partitions.ts';
import { headedRecord, RECORD_HEADER_BYTES } from './records.ts';
import type { EngineContext } from './scope-access.ts';
import { commitScript } from './scripts/commit.ts';
import {
  bytesScript,
  chunkScript,
  commitTimesScript,
  countScript,
  journalScript,
  objectsScript,
  stateScript,
  trimScript,
} from './scripts/journal.ts';
import { bytesOf, listOf, numberOf, numbersOf, prepareList, type Reply, textOf, textsIn } from './wire.ts';

/** What a slice holds already. */
interface Taken {
  readonly takenEntries: number;
  readonly takenUnits: number;
}

const NOTHING_TAKEN: Taken = { takenEntries: 0, takenUnits: 0 };

/** The ways to read a partition. */
function journalReads({ scopes }: EngineContext) {
  const stateOf = (reply: Reply | undefined) => stateFrom(reply, () => scopes.epoch());

  async function partition(key: PartitionKey) {
    const [, state] = await scopes.read({ scope: scopeOf(key), script: stateScript, values: {} });
    return stateOf(state);
  }

  async function readJournal(key: PartitionKey, range: JournalRange, taken: Taken = NOTHING_TAKEN) {
    if (range.entriesMax < 1) throw new Error('entriesMax must be at least 1');
    const values = { ...range, ...taken, wantsIds: false };
    const reply = await scopes.read({ scope: scopeOf(key), script: journalScript, values });
    const [, state, upTo, seqs, lengths, records, tombstoneLengths, tombstones] = reply;
    return {
      state: await stateOf(state),
      records: textsIn(bytesOf(records), numbersOf(lengths), RECORD_HEADER_BYTES),
      seqs: numbersOf(seqs),
      tombstones: textsIn(bytesOf(tombstones), numbersOf(tombstoneLengths)),
      upTo: numberOf(upTo),
    };
  }

  /**
   * Reads a slice in chunks that fit whole, which costs the server a small part of what the journal script does, and what
   * is left by that script. Returns null if the partition changed in between.
   */
  async function readInChunks(key: PartitionKey, range: JournalRange): Promise<JoinedSlice | null> {
    const records = new JoinedRecords(range);
    let after = range.after;
    let first: PartitionState | null = null;
    for (let limit = records.nextCount; limit > 0; limit = records.nextCount) {
      const values = { after, tombstonesAfter: range.tombstonesAfter, limit };
      const [, stateText, upTo, chunk] = await scopes.read({ scope: scopeOf(key), script: chunkScript, values });
      const state = await stateOf(stateText);
      first ??= state;
      if (!isSameState(state, first)) return null;
      if (chunk === undefined || !records.add(listOf(chunk))) break;
      after = numberOf(upTo);
      if (after < state.head) continue;
      return { state, tombstones: [], upTo: after, count: records.count, records: records.joinedWith([]) };
    }
    const taken = { takenEntries: records.count, takenUnits: records.units };
    const rest = await readJournal(key, { ...range, after }, taken);
    if (first !== null && !isSameState(rest.state, first)) return null;
    const { state, tombstones, upTo } = rest;
    const count = records.count + rest.records.length;
    return { state, tombstones, upTo, count, records: records.joinedWith(rest.records) };
  }

  return { stateOf, partition, readJournal, readInChunks };
}

/** Partitions and their journals. One call of `trim` deletes at most `trimStepMax` tombstones. */
export function journal(context: EngineContext, trimStepMax: number): JournalStore {
  const { scopes } = context;
  const { stateOf, partition, readJournal, readInChunks } = journalReads(context);

  return {
    partition,

    async size(key) {
      return (await partition(key)).size;
    },

    async bytes(key) {
      const [, bytes] = await scopes.read({ scope: scopeOf(key), script: bytesScript, values: {} });
      return numberOf(bytes);
    },

    async readObjects(key, ids) {
      for (const id of ids) requireName(id);
      const reply = await scopes.read({ scope: scopeOf(key), script: objectsScript, values: { ids } });
      return { state: await stateOf(reply[1]), objects: objectsFrom(ids, reply) };
    },

    readJournal: (key, range) => readJournal(key, range),

    async readJoined(key, range) {
      return (await readInChunks(key, range)) ?? joinedSlice(await readJournal(key, range));
    },

    async countRecords(key, range) {
      const values = { after: range.after, upTo: range.upTo };
      const [, state, count] = await scopes.read({ scope: scopeOf(key), script: countScript, values });
      return { state: await stateOf(state), count: numberOf(count) };
    },

    async commit(change) {
      const { partition: key, guards, notes } = change;
      requireSound(change.changes);
      if (notes !== undefined) requireSoundNotes(notes);
      const written = await scopes.write({
        ...{ scope: scopeOf(key), script: commitScript, guards, values: await commitValues(change) },
        extraKey: (keys) => (notes === undefined ? keys.one('fence') : keys.clientFence(notes.client)),
        ...(notes === undefined ? {} : { client: notes.client }),
      });
      if (written.gone !== null) return { status: 'gone', guard: written.gone };
      const [status, state] = written.reply;
      const kind = textOf(status);
      if (kind === 'conflict' || kind === 'too_large') return { status: kind };
      return { status: 'committed', state: await stateOf(state) };
    },

    async trim(key, upTo) {
      const values = { upTo, tombstonesMax: trimStepMax };
      const [, state] = await scopes.read({ scope: scopeOf(key), script: trimScript, values });
      return stateOf(state);
    },

    async commitTimes(key) {
      const [, text] = await scopes.read({ scope: scopeOf(key), script: commitTimesScript, values: {} });
      return readCommitTimes(textOf(text));
    },

    partitions: (list) => listPartitions(context, list),

    changedSince: (query) => changedSince(context, query),
  };
}

function objectsFrom(ids: readonly string[], reply: readonly Reply[]): ReadonlyMap<string, StoredObject> {
  const [, , seqs, lengths, bytes] = reply;
  const records = textsIn(bytesOf(bytes), numbersOf(lengths), RECORD_HEADER_BYTES);
  const objects = new Map<string, StoredObject>();
  let next = 0;
  for (const [index, seq] of numbersOf(seqs).entries()) {
    const id = ids[index] ?? '';
    if (seq > 0) objects.set(id, { seq, record: records[next++] ?? null });
    else if (seq < 0) objects.set(id, { seq: -seq, record: null });
  }
  return objects;
}

/** These would be bugs of the caller, and would damage the journal. */
function requireSound(changes: readonly Change[]): void {
  const ids = new Set<string>();
  for (const { id, record, checksum, files } of changes) {
    requireName(id);
    ids.add(id);
    if (record === null && files !== undefined) throw new Error('a deletion has no files');
    if (record === null && checksum !== 0) throw new Error('the checksum of a deletion must be 0');
  }
  if (ids.size !== changes.length) throw new Error('a commit changes the same id twice');
}

async function commitValues({ partition, changes, expectHead, kept = [], seen, bytesMax, atMs, notes }: Commit) {
  return {
    expectedHead: expectHead ?? null,
    seenEpoch: seen?.epoch ?? '',
    seenHead: seen?.head ?? null,
    newId: newId(),
    bytesMax: bytesMax ?? null,
    atS: atMs === undefined ? null : Math.floor(atMs / 1_000),
    isCustom: partition.owner.kind === 'group',
    ids: await prepareList(changes, ({ id }) => id),
    values: await prepareList(changes, ({ record, checksum }) => {
      return record === null ? '' : headedRecord(record, checksum);
    }),
    expected: await prepareList(changes, ({ expect }) => String(expect ?? '')),
    files: changes.flatMap(({ id, files }) => (files === undefined ? [] : [{ id, hashes: files.join('') }])),
    unchanged: await prepareList(kept, ({ id }) => id),
    unchangedExpected: await prepareList(kept, ({ expect }) => String(expect)),
    notes: notes === undefined ? null : noteValues(notes),
  };
}
