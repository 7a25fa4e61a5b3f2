import type { DeviceTidemark } from '@tidemark/core/ports';
import { exclusive, inclusive, keyOf } from './keys.ts';

// A tidemark is kept as a short text, since there is one per device and source: seq.base.start.seen.epoch, numbers to
// the base 36, and nothing for null. In front of it stands the client.

/** Behind every character that the text of a mark begins with. */
const BEHIND_MARKS = '\u007f';

export function markMember(mark: DeviceTidemark): string {
  const { client, epoch, seq, base, start, seenAtMs } = mark;
  const text = [short(seq), short(base), short(start), short(seenAtMs), epoch].join('.');
  return keyOf(client) + text;
}

export function readMark(member: string): DeviceTidemark {
  const client = member.slice(0, member.indexOf('\0'));
  const text = member.slice(client.length + 1);
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
export function markRange(client: string): { readonly min: string; readonly max: string } {
  const prefix = keyOf(client);
  return { min: inclusive(prefix), max: exclusive(prefix + BEHIND_MARKS) };
}

/** Begins a range behind the member of a client. */
export function behindMark(client: string): string {
  return inclusive(keyOf(client) + BEHIND_MARKS);
}

function short(value: number | null): string {
  return value === null ? '' : value.toString(36);
}

function long(text: string): number | null {
  return text === '' ? null : Number.parseInt(text, 36);
}
