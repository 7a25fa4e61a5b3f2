import { readNumber, writeNumber } from './keys.ts';
import type { Tables } from './tables.ts';

/** Where an object stands. */
export interface Standing {
  readonly seq: number;
  readonly isLive: boolean;
  readonly checksum: number;
}

const LIVE = 1;
const DEAD = 0;
const STANDING_BYTES = 14;

export function standingOf(tables: Tables, partition: number, id: string): Standing | null {
  const bytes = tables.index.get([partition, id]);
  return bytes === undefined ? null : readStanding(bytes);
}

export function readStanding(bytes: Uint8Array): Standing {
  // The checksum has 52 bits: one byte and a number.
  return {
    seq: readNumber(bytes, 0),
    isLive: bytes[6] === LIVE,
    checksum: (bytes[7] ?? 0) * 2 ** 48 + readNumber(bytes, 8),
  };
}

export function standingBytes({ seq, isLive, checksum }: Standing): Buffer {
  const bytes = Buffer.allocUnsafe(STANDING_BYTES);
  writeNumber(bytes, 0, seq);
  bytes[6] = isLive ? LIVE : DEAD;
  bytes[7] = Math.floor(checksum / 2 ** 48);
  writeNumber(bytes, 8, checksum % 2 ** 48);
  return bytes;
}
