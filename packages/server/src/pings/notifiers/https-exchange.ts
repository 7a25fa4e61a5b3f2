import { type Agent, type RequestOptions, request } from 'node:https';
import type { LookupFunction } from 'node:net';
import { systemTimers, type Timers } from '../../jobs/timers.ts';

export interface HttpsCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  readonly agent?: Agent;
  readonly ca?: readonly string[] | undefined;
  /** Restricts the addresses a name may resolve to. */
  readonly lookup?: LookupFunction;
  /** For the whole exchange. */
  readonly timeoutMs: number;
  readonly timers?: Timers;
}

export type HttpsReply =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfter: string | null;
      readonly body: string;
    }
  /** The service has not seen the request. */
  | { readonly kind: 'not_sent'; readonly reason: string }
  /** The service may have seen the request. */
  | { readonly kind: 'lost'; readonly reason: string };

/** Bytes that are read of an answer; after more the connection is cut off. */
const ANSWER_BYTES_MAX = 16_384;

/**
 * Sends one POST over TLS: without redirects, bounded in time and size. Errors are returned as replies and never
 * thrown.
 */
export function httpsExchange(call: HttpsCall): Promise<HttpsReply> {
  const { timers = systemTimers, timeoutMs } = call;
  return new Promise((resolve) => {
    let isConnected = false;
    const outgoing = request(call.url, optionsOf(call), (response) => {
      const status = response.statusCode ?? 0;
      const retryAfter = response.headers['retry-after'] ?? null;
      const chunks: Buffer[] = [];
      let bytes = 0;
      const end = () => {
        cancel();
        resolve({ kind: 'answered', status, retryAfter, body: Buffer.concat(chunks).toString('utf8') });
      };
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES_MAX) outgoing.destroy();
        else chunks.push(chunk);
      });
      // The status decides, also if the rest of the answer is cut off.
      response.on('close', end);
      response.on('error', end);
    });
    const cancel = timers.after(timeoutMs, () => outgoing.destroy(new TimeOut(timeoutMs)));
    outgoing.on('socket', (socket) => {
      // A reused socket is connected already; a new one is connected once it is secure.
      if (outgoing.reusedSocket) isConnected = true;
      else
        socket.once('secureConnect', () => {
          isConnected = true;
        });
    });
    outgoing.on('error', (error) => {
      cancel();
      resolve({ kind: isConnected ? 'lost' : 'not_sent', reason: reasonOf(error) });
    });
    outgoing.end(call.body);
  });
}

class TimeOut extends Error {
  readonly code: string;

  constructor(timeoutMs: number) {
    super();
    this.code = `no answer in ${timeoutMs} ms`;
  }
}

function optionsOf({ headers, body, agent, ca, lookup }: HttpsCall): RequestOptions {
  return {
    method: 'POST',
    headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
    ...(agent === undefined ? {} : { agent }),
    ...(ca === undefined ? {} : { ca: [...ca] }),
    ...(lookup === undefined ? {} : { lookup }),
  };
}

/** Returns the code and never the message, which may contain the address. */
function reasonOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
