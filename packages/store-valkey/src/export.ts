import { type DocumentScope, type NoteKind, type PartitionKey, type Piece, portionsOf } from '@tidemark/core/ports';
import { documentNames, readDocument } from './documents.ts';
import { listedEntries } from './entries.ts';
import { carriedJobs } from './jobs/carry-jobs.ts';
import { DIGITS, exclusive, keyOf, type Place, partitionAt, placeFrom, placeOf, textsOf } from './keys.ts';
import type { Layout } from './layout.ts';
import type { Link } from './link.ts';
import { stateFrom } from './partitions.ts';
import type { Places } from './places.ts';
import { checksumAt, RECORD_HEADER_BYTES } from './records.ts';
import { bytesOf, listOf, numberOf, numbersOf, textOf, textsIn } from './reply.ts';
import { listNotesScript, tidemarksScript } from './scripts/devices.ts';
import { journalScript } from './scripts/read.ts';
import { listEntriesScript, listPlacesScript } from './scripts/registry.ts';
import { readStatsScript } from './scripts/stats.ts';
import { rowFrom } from './stats.ts';
import { behindMark, readMark } from './tidemarks.ts';

/** Members, or keys of parts, read in one step. */
const MEMBERS_PER_READ = 1_000;
const SLICE_UNITS = 1_000_000;

export interface ExportGround {
  readonly link: Link;
  readonly layout: Layout;
  readonly places: Places;
}

/**
 * Everything, in steps: the server has no snapshot to read from, so what is written meanwhile may be in it or not. What
 * is kept of objects beside their records is given as it is kept.
 */
export async function* exportStore(ground: ExportGround): AsyncIterable<readonly Piece[]> {
  yield* portionsOf(allPieces(ground));
}

async function* allPieces(ground: ExportGround): AsyncIterable<Piece> {
  yield* entries(ground);
  for await (const place of placesOf(ground)) {
    const partition = partitionAt(place);
    if (partition !== null) yield* partitionPieces(ground, partition);
  }
  for await (const place of placesOf(ground)) {
    const partition = partitionAt(place);
    if (partition !== null) yield* notes(ground, partition);
  }
  for await (const place of placesOf(ground)) yield* documents(ground, place);
  yield* stats(ground);
  yield* carriedJobs(ground.link, ground.layout);
}

async function* entries({ link, layout }: ExportGround): AsyncIterable<Piece> {
  let from = '-';
  for (;;) {
    const found = listOf(await link.run(listEntriesScript, layout.registry, [from, '+', MEMBERS_PER_READ]));
    const listed = listedEntries(found);
    for (const { key, value, version } of listed) yield { what: 'entry', key, value, version };
    const last = listed.at(-1);
    if (listed.length < MEMBERS_PER_READ || last === undefined) return;
    from = exclusive(keyOf(...last.key));
  }
}

/** Every place that something could be at. */
async function* placesOf({ link, layout }: ExportGround): AsyncIterable<Place> {
  let from = '-';
  for (;;) {
    const [found] = listOf(await link.run(listPlacesScript, layout.registry, [from, MEMBERS_PER_READ]));
    const members = listOf(found).map((member) => textOf(member));
    for (const member of members) yield placeFrom(textsOf(member));
    const last = members.at(-1);
    if (members.length < MEMBERS_PER_READ || last === undefined) return;
    from = exclusive(last);
  }
}

async function* partitionPieces({ places }: ExportGround, partition: PartitionKey): AsyncIterable<Piece> {
  let after = 0;
  for (let isFirst = true; ; isFirst = false) {
    const args = [after, after, MEMBERS_PER_READ, SLICE_UNITS, '1'];
    const reply = await places.read({ place: placeOf(partition), script: journalScript, args });
    const state = await stateFrom(reply[1], () => places.epoch());
    if (state.head === 0) return;
    if (isFirst) yield { what: 'partition', partition, state };
    yield* journalPieces(partition, reply);
    after = numberOf(reply[2]);
    if (after >= state.head) break;
  }
  yield* tidemarks(places, partition);
}

function journalPieces(partition: PartitionKey, reply: readonly Parameters<typeof bytesOf>[0][]): readonly Piece[] {
  const [, , , seqs, lengths, records, graveLengths, tombstones, idLengths, ids, graveSeqs] = reply;
  const bytes = bytesOf(records);
  const texts = textsIn(bytes, numbersOf(lengths), RECORD_HEADER_BYTES);
  const names = textsIn(bytesOf(ids), numbersOf(idLengths));
  const places = numbersOf(seqs);
  const pieces: Extract<Piece, { readonly seq: number }>[] = [];
  let at = 0;
  for (const [index, length] of numbersOf(lengths).entries()) {
    const checksum = checksumAt(bytes, at);
    const named = { seq: places[index] ?? 0, id: names[index] ?? '' };
    pieces.push({ what: 'record', partition, ...named, checksum, record: texts[index] ?? '' });
    at += length;
  }
  const gravePlaces = numbersOf(graveSeqs);
  for (const [index, id] of textsIn(bytesOf(tombstones), numbersOf(graveLengths)).entries()) {
    pieces.push({ what: 'grave', partition, seq: gravePlaces[index] ?? 0, id });
  }
  return pieces.sort((left, right) => left.seq - right.seq);
}

async function* tidemarks(places: Places, partition: PartitionKey): AsyncIterable<Piece> {
  let from = '-';
  for (;;) {
    const read = { place: placeOf(partition), script: tidemarksScript, args: [from, '+', MEMBERS_PER_READ] };
    const [, ...members] = await places.read(read);
    const marks = members.map((member) => readMark(textOf(member)));
    for (const mark of marks) yield { what: 'tidemark', partition, mark };
    const last = marks.at(-1);
    if (marks.length < MEMBERS_PER_READ || last === undefined) return;
    from = behindMark(last.client);
  }
}

async function* notes({ places }: ExportGround, partition: PartitionKey): AsyncIterable<Piece> {
  let from = '-';
  for (;;) {
    const read = { place: placeOf(partition), script: listNotesScript, args: [from, '+', MEMBERS_PER_READ] };
    const [, ...found] = await places.read(read);
    let last = '';
    for (let index = 0; index < found.length; index += 2) {
      last = textOf(found[index]);
      const value = textOf(found[index + 1]);
      const [client = '', kind = '', key = ''] = textsOf(last);
      const ends = value.slice(0, DIGITS);
      const note = { kind: kind as NoteKind, key, text: value.slice(DIGITS) };
      yield { what: 'note', partition, client, note, endsAtMs: ends.startsWith('-') ? null : Number(ends) };
    }
    if (found.length < 2 * MEMBERS_PER_READ) return;
    from = exclusive(last);
  }
}

async function* documents({ link, layout, places }: ExportGround, scope: DocumentScope): AsyncIterable<Piece> {
  for (const name of await documentNames(places, scope)) {
    const key = { scope, name };
    const head = await readDocument(places, key, []);
    if (head === null) continue;
    const { type, version, partCount, units } = head;
    yield { what: 'document', key, type, version, partCount, units };
    const found = listOf(await link.command('HKEYS', layout.place(scope).partsOf(name)));
    const parts = found.map(bytesOf).sort(Buffer.compare);
    for (let first = 0; first < parts.length; first += MEMBERS_PER_READ) {
      const asked = parts.slice(first, first + MEMBERS_PER_READ).map((part) => part.toString('utf8'));
      const read = await readDocument(places, key, asked);
      for (const [part, text] of read?.parts ?? []) yield { what: 'part', key, part, text };
    }
  }
}

async function* stats({ link, layout }: ExportGround): AsyncIterable<Piece> {
  let from = '-';
  for (;;) {
    const args = ['oldest', from, '+', MEMBERS_PER_READ];
    const found = listOf(await link.run(readStatsScript, layout.stats, args));
    let last = '';
    for (let index = 0; index < found.length; index += 2) {
      last = textOf(found[index]);
      yield { what: 'stat', row: rowFrom(textsOf(last)[0] ?? '', last, textOf(found[index + 1])) };
    }
    if (found.length < 2 * MEMBERS_PER_READ) return;
    from = exclusive(last);
  }
}
