import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { Refusal } from '@tidemark/protocol';
import { DISCARDED_BYTES_MAX, LINGER_MS } from '../limits.ts';
import { problemOf } from './problem.ts';

/** The methods that some path takes, for whoever comes with another one altogether. */
export const METHODS_TAKEN = 'DELETE, GET, HEAD, POST, PUT';

/** Writes a whole answer on a socket that has no response of its own, and closes it. */
export function refuseOn(socket: Duplex, refusal: Refusal): void {
  const problem = problemOf(refusal, randomUUID());
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    'content-type: application/problem+json',
    'cache-control: no-store',
    `x-request-id: ${problem.request_id}`,
    ...(problem.status === 405 ? [`allow: ${METHODS_TAKEN}`] : []),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  lingerOn(socket);
}

/**
 * Closes a socket whose caller may still be sending. Closing at once would throw away what arrives, and with it the
 * answer on its way there. So a bounded number of bytes is read and dropped, then nothing more, until the time is over.
 */
export function lingerOn(socket: Duplex): void {
  let leftBytes = DISCARDED_BYTES_MAX;
  const discard = (chunk: Buffer) => {
    leftBytes -= chunk.length;
    if (leftBytes <= 0) socket.pause();
  };
  socket.on('data', discard);
  // The HTTP parser reads no further.
  for (const listener of socket.listeners('data')) {
    if (listener !== discard) socket.off('data', listener as (chunk: Buffer) => void);
  }
  socket.on('error', () => socket.destroy());
  socket.end();
  const cutOff = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(cutOff));
}
