import type { Change, RecordReader } from '@tidemark/core';
import { textChecksum } from '@tidemark/protocol';

/** Returns a record of the contract: an id and a text. Engines must not parse records. */
export function recordOf(id: string, text: string): string {
  // It contains a raw line feed, as records of changed objects do.
  return JSON.stringify([id, text]).replaceAll('\\n', '\n');
}

export function put(id: string, text = 'v', expect?: number): Change {
  const record = recordOf(id, text);
  const change = { id, record, checksum: textChecksum(record) };
  return expect === undefined ? change : { ...change, expect };
}

/** Like `put`, with a record that refers to files, which are named by single characters. */
export function putFiles(id: string, files: string): Change {
  const hashes = [...files].map(hashOf).sort();
  const record = JSON.stringify([id, 'v', hashes]);
  return { id, record, checksum: textChecksum(record), ...(hashes.length === 0 ? {} : { files: hashes }) };
}

export function hashOf(name: string): string {
  return Buffer.from(name).toString('hex').padEnd(64, '0');
}

/** Returns a change that deletes. */
export function remove(id: string, expect?: number): Change {
  const change = { id, record: null, checksum: 0 };
  return expect === undefined ? change : { ...change, expect };
}

/** Returns the text that `put` wrote. */
export const readRecord: RecordReader = (record) => {
  const parsed: unknown = JSON.parse(record);
  if (!Array.isArray(parsed) || typeof parsed[0] !== 'string') throw new Error('not a record of the contract');
  const files = parsed[2] as readonly string[] | undefined;
  const read = { id: parsed[0], checksum: textChecksum(record) };
  return files === undefined || files.length === 0 ? read : { ...read, files };
};
