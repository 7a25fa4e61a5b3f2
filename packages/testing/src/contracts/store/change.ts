import type { Change, RecordReader } from '@tidemark/core';
import { textChecksum } from '@tidemark/protocol';

/** The records of the contract: an id and a text. Engines must not care what a record looks like. */
export function recordOf(id: string, text: string): string {
  // A line feed stands in it as it is: records of objects that were changed have one.
  return JSON.stringify([id, text]).replaceAll('\\n', '\n');
}

export function put(id: string, text = 'v', expect?: number): Change {
  const record = recordOf(id, text);
  const change = { id, record, checksum: textChecksum(record) };
  return expect === undefined ? change : { ...change, expect };
}

/** A change that deletes. */
export function bury(id: string, expect?: number): Change {
  const change = { id, record: null, checksum: 0 };
  return expect === undefined ? change : { ...change, expect };
}

/** Reads back what `put` wrote. */
export const readRecord: RecordReader = (record) => {
  const parsed: unknown = JSON.parse(record);
  if (!Array.isArray(parsed) || typeof parsed[0] !== 'string') throw new Error('not a record of the contract');
  return { id: parsed[0], checksum: textChecksum(record) };
};
