import type { DocumentPiece, NotePiece, PartitionKey, PartitionState, Piece, RecordPiece } from '@tidemark/core/ports';
import { importJobs } from './jobs/carry-jobs.ts';
import { clientMember, keyOf, type Place, placeMember, placeOf, sourceMember } from './keys.ts';
import type { Layout, PlaceKeyName, RegistryKeyName } from './layout.ts';
import type { Link } from './link.ts';
import { longListArgs } from './lists.ts';
import { noteEnd, noteField, noteValue } from './notes.ts';
import { headedPart, headedRecord } from './records.ts';
import { putScript } from './scripts/moving.ts';
import { addStats } from './stats.ts';
import { markMember } from './tidemarks.ts';
import type { Argument } from './wire.ts';

/**
 * Puts down pieces as they are. What belongs to one key goes in one step; nobody else uses the store meanwhile, and
 * nothing of it is believed before the end. Places are enrolled first, so that whatever dies, what is there is found.
 */
export async function importPieces(link: Link, layout: Layout, epoch: string, pieces: readonly Piece[]): Promise<void> {
  const batch = new Batch(layout, epoch);
  for (const piece of pieces) batch.take(piece);
  await batch.write(link);
  const rows = pieces.flatMap((piece) => (piece.what === 'stat' ? [piece.row] : []));
  if (rows.length > 0) await addStats(link, layout, rows);
  await importJobs(
    link,
    layout,
    pieces.filter((piece) => piece.what === 'queue' || piece.what === 'job'),
  );
}

interface Put {
  readonly command: 'HSET' | 'ZADD';
  readonly args: (string | number)[];
}

class Batch {
  readonly #layout: Layout;
  readonly #epoch: string;
  readonly #members = new Map<string, Put>();
  readonly #content = new Map<string, Put>();

  constructor(layout: Layout, epoch: string) {
    this.#layout = layout;
    this.#epoch = epoch;
  }

  take(piece: Piece): void {
    switch (piece.what) {
      case 'entry':
        this.#entry(piece.key, `${piece.version} ${piece.value}`);
        break;
      case 'partition':
        this.#partition(piece.partition, piece.state);
        break;
      case 'record':
        this.#record(piece);
        break;
      case 'grave':
        this.#score(placeOf(piece.partition), 'tombstones', piece.seq, piece.id);
        break;
      case 'tidemark':
        this.#trace(piece.mark.client, placeOf(piece.partition));
        this.#score(placeOf(piece.partition), 'tidemarks', 0, markMember(piece.mark));
        break;
      case 'note':
        this.#note(piece);
        break;
      case 'document':
        this.#document(piece);
        break;
      case 'part':
        this.#part(piece);
        break;
    }
  }

  async write(link: Link): Promise<void> {
    for (const puts of [this.#members, this.#content]) {
      await Promise.all(
        [...puts].map(async ([key, { command, args }]) => {
          const list: Argument[] = await longListArgs(args, String);
          await link.write(putScript, [key], [command, ...list]);
        }),
      );
    }
  }

  #entry([kind = '', ...key]: readonly string[], value: string): void {
    const field = keyOf(kind, ...key);
    this.#put(this.#content, this.#layout.registryKey('entries'), 'HSET', field, value);
    this.#put(this.#content, this.#layout.registryKey('names'), 'ZADD', 0, field);
  }

  #partition(partition: PartitionKey, state: PartitionState): void {
    const place = placeOf(partition);
    this.#enrol(place);
    const { word, era, past } = wordsOf(this.#epoch, state);
    const fields = { w: word, r: era, h: state.head, f: state.floor, n: state.size, c: state.checksum, p: past };
    for (const [name, value] of Object.entries(fields)) this.#field(place, 'state', name, value);
  }

  #record({ partition, seq, id, checksum, record }: RecordPiece): void {
    const place = placeOf(partition);
    this.#field(place, 'records', id, headedRecord(record, checksum));
    this.#score(place, 'live', seq, id);
  }

  #note({ partition, client, note, endsAtMs }: NotePiece): void {
    const place = placeOf(partition);
    this.#enrol(place);
    this.#trace(client, place);
    const write = { ...note, ...(endsAtMs === null ? {} : { endsAtMs }) };
    const field = noteField(client, note);
    this.#field(place, 'notes', field, noteValue(write));
    this.#score(place, 'note_names', 0, field);
    if (endsAtMs !== null) this.#score(place, 'note_ends', 0, noteEnd(client, note, endsAtMs));
  }

  #document({ key: { scope, name }, type, version, partCount, units }: DocumentPiece): void {
    this.#enrol(scope);
    this.#field(scope, 'documents', name, [type, version, partCount, units].join(' '));
  }

  #part({ key: { scope, name }, part, text }: Extract<Piece, { readonly what: 'part' }>): void {
    this.#put(this.#content, this.#layout.place(scope).partsOf(name), 'HSET', part, headedPart(text));
  }

  #enrol(place: Place): void {
    this.#member('places', placeMember(place));
    const bySource = sourceMember(place);
    if (bySource !== null) this.#member('sources', bySource);
    this.#field(place, 'state', 'e', this.#epoch);
  }

  #trace(client: string, place: Place): void {
    this.#member('clients', clientMember(client, place));
  }

  #member(key: RegistryKeyName, member: string): void {
    this.#put(this.#members, this.#layout.registryKey(key), 'ZADD', 0, member);
  }

  #field(place: Place, key: PlaceKeyName, field: string, value: string | number): void {
    this.#put(this.#content, this.#keyOf(place, key), 'HSET', field, value);
  }

  #score(place: Place, key: PlaceKeyName, score: number, member: string): void {
    this.#put(this.#content, this.#keyOf(place, key), 'ZADD', score, member);
  }

  #put(puts: Map<string, Put>, key: string, command: Put['command'], first: string | number, second: string | number) {
    const put = puts.get(key) ?? { command, args: [] };
    puts.set(key, put);
    put.args.push(first, second);
  }

  #keyOf(place: Place, key: PlaceKeyName): string {
    const [name = ''] = this.#layout.place(place).some([key]);
    return name;
  }
}

/**
 * Word, era and past of a partition whose epochs were given elsewhere. Whatever its epochs have in common behind that of
 * the store is taken for the word; the rest of each for an era, which may be none.
 */
export function wordsOf(
  life: string,
  { epoch, earlier = [] }: Pick<PartitionState, 'epoch' | 'earlier'>,
): { readonly word: string; readonly era: string; readonly past: string } {
  const epochs = [epoch, ...earlier.map((one) => one.epoch)];
  if (epochs.some((one) => !one.startsWith(life))) throw new Error('an epoch does not begin with that of its store');
  let end = epoch.length;
  while (epochs.some((one) => !one.startsWith(epoch.slice(0, end)))) end -= 1;
  const past = earlier.map((one) => `${one.epoch.slice(end)}:${one.upTo}`);
  return { word: epoch.slice(life.length, end), era: epoch.slice(end), past: past.join(',') };
}
