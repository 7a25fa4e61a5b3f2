import { readNumber, writeNumber } from './keys.ts';
import type { Tables } from './tables.ts';

/** What the index holds of an object: the seq of its newest entry in the journal, and of a live one its checksum. */
export interface IndexEntry {
  readonly seq: number;
  /** False: the entry is a tombstone. */
  readonly isLive: boolean;
  readonly checksum: number;
}

const LIVE = 1;
const DELETED = 0;
const ENTRY_BYTES = 14;

export function readIndexEntry(tables: Tables, partition: number, id: string): IndexEntry | null {
  const bytes = tables.index.get([partition, id]);
  return bytes === undefined ? null : decodeIndexEntry(bytes);
}

/** Six bytes of seq, one that says whether it is live, seven of checksum, which has 52 bits. */
export function decodeIndexEntry(bytes: Uint8Array): IndexEntry {
  return {
    seq: readNumber(bytes, 0),
    isLive: bytes[6] === LIVE,
    checksum: (bytes[7] ?? 0) * 2 ** 48 + readNumber(bytes, 8),
  };
}

export function encodeIndexEntry({ seq, isLive, checksum }: IndexEntry): Buffer {
  const bytes = Buffer.allocUnsafe(ENTRY_BYTES);
  writeNumber(bytes, 0, seq);
  bytes[6] = isLive ? LIVE : DELETED;
  bytes[7] = Math.floor(checksum / 2 ** 48);
  writeNumber(bytes, 8, checksum % 2 ** 48);
  return bytes;
}
