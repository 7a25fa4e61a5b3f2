import type { Finding, PartitionKey, RecordReader } from '@tidemark/core/ports';
import { addChecksums } from '@tidemark/protocol';
import { placeOf } from './keys.ts';
import type { Places } from './places.ts';
import { checksumAt, RECORD_HEADER_BYTES } from './records.ts';
import { bytesOf, numberOf, numbersOf, textOf, textsIn } from './reply.ts';
import { journalScript, soundnessScript } from './scripts/read.ts';
import type { Reply } from './wire.ts';

/** Entries read at a time. */
const SLICE_ENTRIES = 1_000;
const SLICE_UNITS = 1_000_000;
/** A partition that begins anew this often while it is read is left for the next time. */
const ATTEMPTS_MAX = 20;

type PartitionFinding = Omit<Finding, 'partition'>;

/** An object as it was met. */
interface Met {
  readonly seq: number;
  readonly checksum: number;
  readonly problems: readonly PartitionFinding[];
}

/**
 * Follows the journal of a partition like a device, so that work may go on meanwhile: what it has when it has caught up
 * is the state of one moment, and is compared with what was noted at that moment.
 */
export async function* verifyPartition(
  places: Places,
  partition: PartitionKey,
  reader: RecordReader,
): AsyncIterable<Finding> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const findings = await new Check(places, partition, reader).run();
    if (findings === null) continue;
    for (const finding of findings) yield { partition, ...finding };
    return;
  }
}

class Check {
  readonly #places: Places;
  readonly #partition: PartitionKey;
  readonly #reader: RecordReader;
  readonly #met = new Map<string, Met>();
  #after = 0;
  #life: string | null = null;

  constructor(places: Places, partition: PartitionKey, reader: RecordReader) {
    this.#places = places;
    this.#partition = partition;
    this.#reader = reader;
  }

  /** Null: the partition began anew, or forgot what was not read yet. */
  async run(): Promise<readonly PartitionFinding[] | null> {
    for (;;) {
      const reply = await this.#slice();
      const [life, , , head = '0', floor, size, checksum] = textOf(reply[1]).split(' ');
      if (this.#isTorn(life ?? '', Number(floor))) return null;
      this.#take(reply);
      this.#after = numberOf(reply[2]);
      if (this.#after !== Number(head)) continue;
      return [
        ...[...this.#met.values()].flatMap(({ problems }) => problems),
        ...this.#totals(Number(size), Number(checksum)),
        ...(await this.#soundness()),
      ];
    }
  }

  #slice(): Promise<readonly Reply[]> {
    const args = [this.#after, this.#after, SLICE_ENTRIES, SLICE_UNITS, '1'];
    return this.#places.read({ place: placeOf(this.#partition), script: journalScript, args });
  }

  #isTorn(life: string, floor: number): boolean {
    const isTorn = this.#life !== null && (this.#life !== life || floor > this.#after);
    this.#life = life;
    return isTorn;
  }

  #take(reply: readonly Reply[]): void {
    const [, , , seqs, lengths, records, graveLengths, tombstones, idLengths, ids] = reply;
    const bytes = bytesOf(records);
    const texts = textsIn(bytes, numbersOf(lengths), RECORD_HEADER_BYTES);
    const names = textsIn(bytesOf(ids), numbersOf(idLengths));
    const places = numbersOf(seqs);
    let at = 0;
    for (const [index, length] of numbersOf(lengths).entries()) {
      const id = names[index] ?? '';
      this.#met.set(id, this.#meet(id, places[index] ?? 0, texts[index] ?? '', checksumAt(bytes, at)));
      at += length;
    }
    for (const id of textsIn(bytesOf(tombstones), numbersOf(graveLengths))) this.#met.delete(id);
  }

  #meet(id: string, seq: number, record: string, kept: number): Met {
    const read = this.#read(record);
    if (read === null)
      return { seq, checksum: 0, problems: [{ problem: 'unreadable', detail: `the record at ${seq}` }] };
    const problems: PartitionFinding[] = [];
    const detail = `object ${JSON.stringify(id)} at ${seq}`;
    if (read.id !== id) problems.push({ problem: 'missing_from_index', detail });
    if (read.checksum !== kept) problems.push({ problem: 'wrong_object_checksum', detail });
    return { seq, checksum: read.checksum, problems };
  }

  #totals(size: number, checksum: number): PartitionFinding[] {
    let sum = 0;
    for (const met of this.#met.values()) sum = addChecksums(sum, met.checksum);
    const found: PartitionFinding[] = [];
    if (this.#met.size !== size) {
      found.push({ problem: 'wrong_size', detail: `${size} objects noted, ${this.#met.size} found` });
    }
    if (sum !== checksum) {
      found.push({ problem: 'wrong_checksum', detail: `${checksum} noted, ${sum} computed` });
    }
    return found;
  }

  /** What a follower does not see, looked at in one moment. */
  async #soundness(): Promise<PartitionFinding[]> {
    const reply = await this.#places.read({ place: placeOf(this.#partition), script: soundnessScript, args: [] });
    const [size = 0, records = 0, live = 0, beyond = 0, below = 0] = numbersOf(reply[1]);
    const found: PartitionFinding[] = [];
    if (records !== size || live !== size) {
      const detail = `${size} objects noted, ${live} in the journal, ${records} records`;
      found.push({ problem: live > records ? 'missing_from_journal' : 'missing_from_index', detail });
    }
    if (beyond > 0) found.push({ problem: 'seq_beyond_head', detail: `${beyond} entries` });
    if (below > 0) found.push({ problem: 'grave_below_floor', detail: `${below} tombstones` });
    return found;
  }

  #read(record: string): ReturnType<RecordReader> | null {
    try {
      return this.#reader(record);
    } catch {
      return null;
    }
  }
}
