import {
  type DeviceTidemark,
  type DocumentScope,
  type NoteKind,
  type PartitionKey,
  type Piece,
  partitionOf,
  portionsOf,
  type RecordReader,
  scopeFrom,
  scopeOf,
} from '@tidemark/core/ports';
import { documents } from './documents.ts';
import { entriesFrom } from './entries.ts';
import { exportJobs } from './jobs/move-jobs.ts';
import { exclusive, keyOf, type Scope, textsOf } from './keys.ts';
import { noteFrom } from './notes.ts';
import { stateFrom } from './partitions.ts';
import { checksumAt, RECORD_HEADER_BYTES } from './records.ts';
import type { EngineContext } from './scope-access.ts';
import { listNotesScript } from './scripts/devices.ts';
import { journalScript } from './scripts/journal.ts';
import { listEntriesScript, listScopesScript } from './scripts/registry.ts';
import { readStatsScript } from './scripts/stats.ts';
import { rowsFrom } from './stats.ts';
import { tidemarks } from './tidemarks.ts';
import { bytesOf, listOf, numberOf, numbersOf, pairsOf, type Reply, textListOf, textOf, textsIn } from './wire.ts';

/** Members, or keys of parts, that one call reads. */
const MEMBERS_PER_READ = 1_000;
const SLICE_UNITS = 1_000_000;

/** Exports everything. The server has no snapshots, so writes that happen meanwhile may be in it or not. */
export async function* exportStore(context: EngineContext, reader: RecordReader): AsyncIterable<readonly Piece[]> {
  yield* portionsOf(allPieces(context, reader));
}

async function* allPieces(context: EngineContext, reader: RecordReader): AsyncIterable<Piece> {
  yield* entryPieces(context);
  for await (const partition of partitionsOf(context)) yield* partitionPieces(context, partition, reader);
  for await (const partition of partitionsOf(context)) yield* notePieces(context, partition);
  for await (const scope of scopesOf(context)) yield* documentPieces(context, scope);
  yield* statPieces(context);
  yield* exportJobs(context);
}

/** Reads pages until one is not full. `read` gets the start of a range and returns a page and the start after it. */
async function* pages<T>(
  read: (min: string) => Promise<{ readonly page: readonly T[]; readonly next: string }>,
): AsyncIterable<T> {
  let min = '-';
  for (;;) {
    const { page, next } = await read(min);
    yield* page;
    if (page.length < MEMBERS_PER_READ) return;
    min = next;
  }
}

function entryPieces({ connection, layout }: EngineContext): AsyncIterable<Piece> {
  return pages(async (min) => {
    const args = listEntriesScript.args({ min, max: '+', limit: MEMBERS_PER_READ });
    const listed = entriesFrom(listOf(await connection.run(listEntriesScript, layout.registry, args)));
    const page = listed.map(({ key, value, version }) => ({ what: 'entry', key, value, version }) as const);
    return { page, next: exclusive(keyOf(...(listed.at(-1)?.key ?? []))) };
  });
}

/** Every scope that may hold data. */
function scopesOf({ connection, layout }: EngineContext): AsyncIterable<Scope> {
  return pages(async (min) => {
    const args = listScopesScript.args({ min, limit: MEMBERS_PER_READ });
    const members = textListOf(listOf(await connection.run(listScopesScript, layout.registry, args))[0]);
    return { page: members.map((member) => scopeFrom(textsOf(member))), next: exclusive(members.at(-1) ?? '') };
  });
}

async function* partitionsOf(context: EngineContext): AsyncIterable<PartitionKey> {
  for await (const scope of scopesOf(context)) {
    const partition = partitionOf(scope);
    if (partition !== null) yield partition;
  }
}

async function* partitionPieces(
  context: EngineContext,
  partition: PartitionKey,
  reader: RecordReader,
): AsyncIterable<Piece> {
  const { scopes } = context;
  let after = 0;
  for (let isFirst = true; ; isFirst = false) {
    const reply = await scopes.read({
      ...{ scope: scopeOf(partition), script: journalScript },
      values: {
        ...{ after, tombstonesAfter: after, entriesMax: MEMBERS_PER_READ, unitsMax: SLICE_UNITS },
        ...{ takenEntries: 0, takenUnits: 0, wantsIds: true },
      },
    });
    const state = await stateFrom(reply[1], () => scopes.epoch());
    if (state.head === 0) return;
    if (isFirst) yield { what: 'partition', partition, state };
    yield* journalPieces(partition, reply, reader);
    after = numberOf(reply[2]);
    if (after >= state.head) break;
  }
  yield* tidemarkPieces(context, partition);
}

function journalPieces(partition: PartitionKey, reply: readonly Reply[], reader: RecordReader): readonly Piece[] {
  const [, , , seqs, lengthList, records, tombstoneLengths, tombstones, idLengths, ids, tombstoneSeqs] = reply;
  const bytes = bytesOf(records);
  const lengths = numbersOf(lengthList);
  const texts = textsIn(bytes, lengths, RECORD_HEADER_BYTES);
  const names = textsIn(bytesOf(ids), numbersOf(idLengths));
  const recordSeqs = numbersOf(seqs);
  const pieces: Extract<Piece, { readonly seq: number }>[] = [];
  let at = 0;
  for (const [index, length] of lengths.entries()) {
    const checksum = checksumAt(bytes, at);
    const named = { seq: recordSeqs[index] ?? 0, id: names[index] ?? '' };
    const record = texts[index] ?? '';
    const { files } = reader(record);
    pieces.push({ what: 'record', partition, ...named, checksum, record, ...(files === undefined ? {} : { files }) });
    at += length;
  }
  const deletedSeqs = numbersOf(tombstoneSeqs);
  for (const [index, id] of textsIn(bytesOf(tombstones), numbersOf(tombstoneLengths)).entries()) {
    pieces.push({ what: 'tombstone', partition, seq: deletedSeqs[index] ?? 0, id });
  }
  return pieces.sort((left, right) => left.seq - right.seq);
}

async function* tidemarkPieces(context: EngineContext, partition: PartitionKey): AsyncIterable<Piece> {
  const { listTidemarks } = tidemarks(context);
  let after: DeviceTidemark | undefined;
  do {
    const list = { limit: MEMBERS_PER_READ, ...(after === undefined ? {} : { after }) };
    const marks = await listTidemarks(partition, list);
    for (const mark of marks) yield { what: 'tidemark', partition, mark };
    after = marks.length < MEMBERS_PER_READ ? undefined : marks.at(-1);
  } while (after !== undefined);
}

function notePieces({ scopes }: EngineContext, partition: PartitionKey): AsyncIterable<Piece> {
  return pages(async (min) => {
    const values = { min, max: '+', limit: MEMBERS_PER_READ };
    const [, ...found] = await scopes.read({ scope: scopeOf(partition), script: listNotesScript, values });
    const notes = pairsOf(found).map(([field, value]) => ({ field: textOf(field), ...noteFrom(textOf(value)) }));
    const page = notes.map(({ field, text, endsAtMs }) => {
      const [client = '', kind = '', key = ''] = textsOf(field);
      return { what: 'note', partition, client, note: { kind: kind as NoteKind, key, text }, endsAtMs } as const;
    });
    return { page, next: exclusive(notes.at(-1)?.field ?? '') };
  });
}

async function* documentPieces(context: EngineContext, scope: DocumentScope): AsyncIterable<Piece> {
  const { connection, layout } = context;
  const { documentNames, readDocument } = documents(context);
  for (const name of await documentNames(scope)) {
    const key = { scope, name };
    const header = await readDocument(key, []);
    if (header === null) continue;
    const { type, version, partCount, units } = header;
    yield { what: 'document', key, type, version, partCount, units };
    const found = listOf(await connection.command('HKEYS', layout.scope(scope).parts(name)));
    const keys = found.map(bytesOf).sort(Buffer.compare);
    for (let first = 0; first < keys.length; first += MEMBERS_PER_READ) {
      const some = keys.slice(first, first + MEMBERS_PER_READ).map((part) => part.toString('utf8'));
      const read = await readDocument(key, some);
      for (const [part, text] of read?.parts ?? []) yield { what: 'part', key, part, text };
    }
  }
}

function statPieces({ connection, layout }: EngineContext): AsyncIterable<Piece> {
  return pages(async (min) => {
    const args = readStatsScript.args({ isOldestFirst: true, min, max: '+', limit: MEMBERS_PER_READ });
    const found = listOf(await connection.run(readStatsScript, layout.stats, args));
    const last = found.at(-2);
    return {
      page: rowsFrom(found).map((row) => ({ what: 'stat', row }) as const),
      next: last === undefined ? '-' : exclusive(textOf(last)),
    };
  });
}
