import { ByteReader } from './byte-reader.ts';
import type { Lsn } from './message.ts';
import { toPostgresUs } from './postgres-time.ts';

/** What a server sends while it streams: data of the output plugin, or a sign of life. */
export type Frame =
  | { readonly type: 'data'; readonly lsn: Lsn; readonly content: Buffer }
  | { readonly type: 'keepalive'; readonly lsn: Lsn; readonly wantsReply: boolean };

export function decodeFrame(bytes: Uint8Array): Frame {
  const reader = new ByteReader(bytes, 'a message of the replication protocol');
  const letter = reader.letter();
  if (letter === 'w') return dataFrame(reader);
  if (letter === 'k') return keepaliveFrame(reader);
  throw new Error(`the replication protocol has a message of the unknown kind "${letter}"`);
}

function dataFrame(reader: ByteReader): Frame {
  const lsn = reader.uint64();
  reader.uint64(); // The end of the server's log.
  reader.int64(); // The server's clock.
  return { type: 'data', lsn, content: reader.rest() };
}

function keepaliveFrame(reader: ByteReader): Frame {
  const lsn = reader.uint64();
  reader.int64(); // The server's clock.
  const wantsReply = reader.uint8() !== 0;
  reader.end();
  return { type: 'keepalive', lsn, wantsReply };
}

/** The status that tells a server up to where everything is durable. Zero tells it nothing but that the client is alive. */
export function encodeStatus(durable: Lsn, nowMs: number): Buffer {
  const bytes = Buffer.alloc(34);
  bytes.write('r', 0, 'latin1');
  for (const at of [1, 9, 17]) bytes.writeBigUInt64BE(durable, at);
  bytes.writeBigInt64BE(toPostgresUs(nowMs), 25);
  // Asks for an answer, by which a connection that is dead is told from one that is quiet.
  bytes.writeUInt8(1, 33);
  return bytes;
}
