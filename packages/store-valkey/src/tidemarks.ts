import type { DeviceTidemark } from '@tidemark/core';
import { exclusive, inclusive, keyOf, textsOf } from './keys.ts';

// A tidemark is kept as a short text, since there is one per device and source: seq.base.start.seen.epoch, numbers to
// the base 36, and nothing for null. In front of it stands the client.

/** Behind every character that the text of a mark begins with, and before what an escaped zero byte goes on with. */
const BEHIND_MARKS = Buffer.from([0x7f]);

export function markMember(mark: DeviceTidemark): Buffer {
  const { client, epoch, seq, base, start, seenAtMs } = mark;
  const text = [short(seq), short(base), short(start), short(seenAtMs), epoch].join('.');
  return Buffer.concat([keyOf(client), Buffer.from(text, 'utf8')]);
}

export function readMark(member: Buffer): DeviceTidemark {
  const [client = ''] = textsOf(member);
  const text = member.toString('utf8', keyOf(client).length);
  const [seq = '', base = '', start = '', seen = '', ...epoch] = text.split('.');
  return {
    client,
    epoch: epoch.join('.'),
    seq: long(seq) ?? 0,
    base: long(base),
    start: long(start),
    seenAtMs: long(seen) ?? 0,
  };
}

/** The range that holds the one member of a client. */
export function markRange(client: string): { readonly min: Buffer; readonly max: Buffer } {
  const prefix = keyOf(client);
  return { min: inclusive(prefix), max: exclusive(Buffer.concat([prefix, BEHIND_MARKS])) };
}

/** Begins a range behind the member of a client. */
export function behindMark(client: string): Buffer {
  return inclusive(Buffer.concat([keyOf(client), BEHIND_MARKS]));
}

function short(value: number | null): string {
  return value === null ? '' : value.toString(36);
}

function long(text: string): number | null {
  return text === '' ? null : Number.parseInt(text, 36);
}
