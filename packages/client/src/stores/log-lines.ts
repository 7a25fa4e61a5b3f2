import { type JsonValue, parseJson, textChecksum } from '@tidemark/protocol';
import { clientError } from '../client-error.ts';
import { type LocalWrite, TABLES, type Table } from '../ports/local-store.ts';

/**
 * The format of the file store: a header line, then one line per transaction, each with a checksum in front. A
 * transaction is in the file if its line is complete.
 */
export const HEADER = 'tidemark-device 1\n';

const NEWLINE = 0x0a;
/** Table number, both parts of the key, value. Without a value the row is deleted. */
type PackedWrite = readonly [number, string, string, JsonValue?];

export function lineOf(writes: readonly LocalWrite[]): Buffer {
  const packed = writes.map(({ table, key, value }): PackedWrite => {
    const number = TABLES.indexOf(table);
    return value === undefined ? [number, key[0], key[1]] : [number, key[0], key[1], value];
  });
  const text = JSON.stringify(packed);
  return Buffer.from(`${textChecksum(text).toString(36)} ${text}\n`);
}

export interface LogContent {
  readonly transactions: readonly (readonly LocalWrite[])[];
  /** The length of the valid part of the file. The rest is a line that was being written when the process died. */
  readonly validBytes: number;
}

export function readLog(file: Buffer, path: string): LogContent {
  if (!file.subarray(0, HEADER.length).equals(Buffer.from(HEADER))) {
    throw clientError('store_damaged', `${path} is not a file this version of the device SDK can read`);
  }
  const transactions: (readonly LocalWrite[])[] = [];
  let at = HEADER.length;
  while (at < file.length) {
    const end = file.indexOf(NEWLINE, at);
    const writes = end < 0 ? null : readLine(file.toString('utf8', at, end));
    if (writes === null) {
      requireNothingAfter(file, end, path);
      break;
    }
    transactions.push(writes);
    at = end + 1;
  }
  return { transactions, validBytes: at };
}

function readLine(line: string): readonly LocalWrite[] | null {
  const space = line.indexOf(' ');
  const text = line.slice(space + 1);
  if (space <= 0 || textChecksum(text).toString(36) !== line.slice(0, space)) return null;
  return (parseJson(text) as readonly PackedWrite[]).map(([table, first, second, ...rest]) => {
    const place = { table: TABLES[table] as Table, key: [first, second] as const };
    return rest.length === 0 ? place : { ...place, value: rest[0] as JsonValue };
  });
}

/**
 * Only the last line can be incomplete after a crash. Complete lines behind a broken one mean that the file is
 * damaged.
 */
function requireNothingAfter(file: Buffer, brokenEnd: number, path: string): void {
  let at = brokenEnd < 0 ? file.length : brokenEnd + 1;
  while (at < file.length) {
    const end = file.indexOf(NEWLINE, at);
    if (end < 0) return;
    if (readLine(file.toString('utf8', at, end)) !== null) {
      throw clientError('store_damaged', `${path} is damaged`);
    }
    at = end + 1;
  }
}
