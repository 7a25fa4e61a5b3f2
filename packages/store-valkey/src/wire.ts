/** One argument of a command. */
export type Argument = string | number | Buffer;
/** A reply of the server: bulk strings as bytes, integers, and lists of both. */
export type Reply = Buffer | number | null | readonly Reply[];

// Replies. A script replies with what its doc comment says; a reply of another type is a bug in this package.

export function listOf(reply: Reply | undefined): readonly Reply[] {
  if (!Array.isArray(reply)) throw new Error('a script replied with something other than a list');
  return reply;
}

export function bytesOf(reply: Reply | undefined): Buffer {
  if (!Buffer.isBuffer(reply)) throw new Error('a script replied with something other than a string');
  return reply;
}

export function textOf(reply: Reply | undefined): string {
  return bytesOf(reply).toString('utf8');
}

export function textListOf(reply: Reply | undefined): string[] {
  return listOf(reply).map((text) => textOf(text));
}

export function numberOf(reply: Reply | undefined): number {
  return typeof reply === 'number' ? reply : Number(textOf(reply));
}

/** Reads numbers joined by commas. */
export function numbersOf(reply: Reply | undefined): readonly number[] {
  const text = bytesOf(reply).toString('latin1');
  return text === '' ? [] : text.split(',').map(Number);
}

/** Splits concatenated texts by their lengths in bytes, and drops the first `skip` bytes of each. */
export function textsIn(bytes: Buffer, lengths: readonly number[], skip = 0): string[] {
  const texts: string[] = [];
  let at = 0;
  for (const length of lengths) {
    texts.push(bytes.toString('utf8', at + skip, at + length));
    at += length;
  }
  return texts;
}

/** Splits a flat list of alternating fields and values, as HGETALL replies. */
export function pairsOf(flat: readonly Reply[]): (readonly [field: Reply, value: Reply])[] {
  const pairs: (readonly [Reply, Reply])[] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) pairs.push([flat[index] ?? null, flat[index + 1] ?? null]);
  return pairs;
}

// Lists as arguments. `take_list` in scripts/script.ts reads what these functions write.

/** A list that is already encoded. */
export class EncodedList {
  readonly args: readonly Argument[];

  constructor(args: readonly Argument[]) {
    this.args = args;
  }
}

export type List = readonly (string | number)[] | EncodedList;

/** Lists up to this length are sent as plain arguments: packing them would cost more. */
const PLAIN_MAX = 16;
/** Members of one pack: Lua can unpack that many at once, and encoding them does not block the event loop for long. */
const PACK_MEMBERS = 1_000;

// MessagePack: a list with a length of 32 bits, and texts with a length of 32 bits.
const LIST = 0xdd;
const TEXT = 0xdb;
const HEAD_BYTES = 5;

/** Encodes a list: its length and its members, or, if it is long, the negated number of packs and the packs. */
export function encodeList(list: List): readonly Argument[] {
  if (list instanceof EncodedList) return list.args;
  if (list.length <= PLAIN_MAX) return [list.length, ...list];
  const packs: Argument[] = [];
  for (let first = 0; first < list.length; first += PACK_MEMBERS) {
    packs.push(packed(list.slice(first, first + PACK_MEMBERS).map(String)));
  }
  return [-packs.length, ...packs];
}

/** Prepares a list that may have a hundred thousand members. A long one is encoded with pauses for the event loop. */
export function prepareList<T>(list: readonly T[], toText: (member: T) => string): List | Promise<List> {
  return list.length <= PLAIN_MAX ? list.map(toText) : encodeInSteps(list, toText);
}

async function encodeInSteps<T>(list: readonly T[], toText: (member: T) => string): Promise<List> {
  const packs: Argument[] = [];
  for (let first = 0; first < list.length; first += PACK_MEMBERS) {
    if (first > 0) await new Promise<void>((resolve) => setImmediate(resolve));
    packs.push(packed(list.slice(first, first + PACK_MEMBERS).map(toText)));
  }
  return new EncodedList([-packs.length, ...packs]);
}

function packed(members: readonly string[]): Buffer {
  const bytesMax = members.reduce((sum, member) => sum + HEAD_BYTES + Buffer.byteLength(member), HEAD_BYTES);
  const pack = Buffer.allocUnsafe(bytesMax);
  let at = writeHead(pack, 0, LIST, members.length);
  for (const member of members) {
    const length = pack.write(member, at + HEAD_BYTES);
    at = writeHead(pack, at, TEXT, length) + length;
  }
  return pack;
}

function writeHead(pack: Buffer, at: number, kind: number, length: number): number {
  pack[at] = kind;
  return pack.writeUInt32BE(length, at + 1);
}
