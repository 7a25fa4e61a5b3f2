import type { DeviceTidemark } from '@tidemark/core/ports';

// A tidemark is stored as a short text, because there is one per device and source: seq.base.start.seen.epoch, with
// numbers in base 36 and nothing for null.

export function encodeMark({ epoch, seq, base, start, seenAtMs }: DeviceTidemark): string {
  return [toBase36(seq), toBase36(base), toBase36(start), toBase36(seenAtMs), epoch].join('.');
}

export function decodeMark(client: string, text: string): DeviceTidemark {
  const [seq = '', base = '', start = '', seen = '', ...epoch] = text.split('.');
  return {
    client,
    epoch: epoch.join('.'),
    seq: fromBase36(seq) ?? 0,
    base: fromBase36(base),
    start: fromBase36(start),
    seenAtMs: fromBase36(seen) ?? 0,
  };
}

function toBase36(value: number | null): string {
  return value === null ? '' : value.toString(36);
}

function fromBase36(text: string): number | null {
  return text === '' ? null : Number.parseInt(text, 36);
}
