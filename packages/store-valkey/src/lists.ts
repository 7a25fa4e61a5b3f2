import { betweenTurns } from './link.ts';
import type { Argument } from './wire.ts';

/** Lists up to this long travel as they are: packing would cost more. */
const PLAIN_MAX = 16;
/** Members of one pack: as many as Lua can hand over at once, and few enough for the event loop. */
const PACK_MEMBERS = 1_000;

// MessagePack: a list with a length of 32 bits, and texts with a length of 32 bits.
const LIST = 0xdd;
const TEXT = 0xdb;
const HEAD_BYTES = 5;

/** A list as scripts take it. */
export function listArgs(list: readonly (string | number)[]): Argument[] {
  if (list.length <= PLAIN_MAX) return [list.length, ...list];
  const packs: Argument[] = [];
  for (let first = 0; first < list.length; first += PACK_MEMBERS) {
    packs.push(packed(list.slice(first, first + PACK_MEMBERS).map(String)));
  }
  return [-packs.length, ...packs];
}

/** The same for what there may be a hundred thousand of: the event loop gets its turns in between. */
export async function longListArgs<T>(list: readonly T[], textOf: (member: T) => string): Promise<Argument[]> {
  if (list.length <= PLAIN_MAX) return [list.length, ...list.map(textOf)];
  const packs: Argument[] = [];
  for (let first = 0; first < list.length; first += PACK_MEMBERS) {
    if (first > 0) await betweenTurns();
    packs.push(packed(list.slice(first, first + PACK_MEMBERS).map(textOf)));
  }
  return [-packs.length, ...packs];
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
