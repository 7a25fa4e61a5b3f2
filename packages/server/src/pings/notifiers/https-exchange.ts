import { type Agent, type RequestOptions, request } from 'node:https';
import type { LookupFunction } from 'node:net';
import { systemTimers, type Timers } from '../../jobs/timers.ts';

export interface HttpsCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  readonly agent?: Agent;
  readonly ca?: readonly string[] | undefined;
  /** Decides which addresses a name may lead to. */
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
  /** Nobody has seen the request. */
  | { readonly kind: 'not_sent'; readonly reason: string }
  /** Somebody may have seen it. */
  | { readonly kind: 'lost'; readonly reason: string };

/** What is read of an answer; the rest is cut off, and the connection with it. */
const ANSWER_BYTES_MAX = 16_384;

/** One POST over TLS: no redirects, bounded in time and size, and never thrown: what went wrong is an answer too. */
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
      // The status is the verdict: it counts also when the rest of the answer is cut off.
      response.on('close', end);
      response.on('error', end);
    });
    const cancel = timers.after(timeoutMs, () => outgoing.destroy(new TimeOut(timeoutMs)));
    outgoing.on('socket', (socket) => {
      // A socket of the agent's may be there already; a new one is connected once it is secure.
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

/** The code, never the message: that may contain the address. */
function reasonOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
