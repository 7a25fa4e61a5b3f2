import { type Argument, type Pause, withoutPause } from './link.ts';
import { RECORD_HEADER_BYTES, writeRecord } from './records.ts';

/** A record on its way to a script, with what the script must know of it. Null: nothing, which removes. */
export interface HeadedRecord {
  readonly record: string | null;
  readonly checksum: number;
}

/** Lists up to this long travel as they are: packing would cost more. */
const PLAIN_MAX = 16;
/** Members of one pack: as many as Lua can hand over at once, and few enough for the event loop. */
const PACK_MEMBERS = 1_000;

// MessagePack: a list with a length of 32 bits, and texts with a length of 32 bits.
const LIST = 0xdd;
const TEXT = 0xdb;
const HEAD_BYTES = 5;

/** A list as scripts take it. */
export function listArgs(list: readonly Argument[]): Argument[] {
  if (list.length <= PLAIN_MAX) return [list.length, ...list];
  const packs: Argument[] = [];
  for (let first = 0; first < list.length; first += PACK_MEMBERS) {
    packs.push(packed(list.slice(first, first + PACK_MEMBERS).map(textOrBytes), bytesIn, writeInto));
  }
  return [-packs.length, ...packs];
}

/** Records as a list. There may be a hundred thousand of them, so the event loop gets its turns in between. */
export async function recordArgs(records: readonly HeadedRecord[], pause: Pause = withoutPause): Promise<Argument[]> {
  const packs: Argument[] = [];
  for (let first = 0; first < records.length; first += PACK_MEMBERS) {
    if (first > 0) await pause();
    packs.push(packed(records.slice(first, first + PACK_MEMBERS), recordBytesIn, writeHeaded));
  }
  return [-packs.length, ...packs];
}

function packed<T>(
  members: readonly T[],
  bytesOf: (member: T) => number,
  write: (pack: Buffer, at: number, member: T, length: number) => void,
): Buffer {
  const lengths = members.map(bytesOf);
  const pack = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + HEAD_BYTES + length, HEAD_BYTES));
  let at = writeHead(pack, 0, LIST, members.length);
  for (const [index, member] of members.entries()) {
    const length = lengths[index] ?? 0;
    at = writeHead(pack, at, TEXT, length);
    write(pack, at, member, length);
    at += length;
  }
  return pack;
}

function writeHead(pack: Buffer, at: number, kind: number, length: number): number {
  pack[at] = kind;
  return pack.writeUInt32BE(length, at + 1);
}

function textOrBytes(member: Argument): string | Buffer {
  return typeof member === 'number' ? String(member) : member;
}

function bytesIn(member: string | Buffer): number {
  return typeof member === 'string' ? Buffer.byteLength(member) : member.length;
}

function writeInto(pack: Buffer, at: number, member: string | Buffer): void {
  if (typeof member === 'string') pack.write(member, at);
  else member.copy(pack, at);
}

function recordBytesIn({ record }: HeadedRecord): number {
  return record === null ? 0 : RECORD_HEADER_BYTES + Buffer.byteLength(record);
}

function writeHeaded(pack: Buffer, at: number, { record, checksum }: HeadedRecord): void {
  if (record !== null) writeRecord(pack, at, record, checksum);
}
