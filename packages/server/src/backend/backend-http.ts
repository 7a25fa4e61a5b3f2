import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Refusal } from '@tidemark/protocol';
import type { Timers } from '../jobs/timers.ts';
import { type AddressRules, blockedHost, checkedLookup, type Resolve } from '../outbound/checked-lookup.ts';
import { codeOf, failureOf } from './backend-failure.ts';

export interface BackendHttpParts {
  readonly resolve: Resolve;
  readonly rules: AddressRules;
  readonly timers: Timers;
}

export interface Outgoing {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** For the whole exchange, up to the last byte of the answer. */
  readonly deadlineMs: number;
  /** Called once when the exchange no longer uses a connection, whether it succeeded or not. */
  readonly onClosed: () => void;
}

/** An answer. The receiver must read it to the end or release it. */
export interface Exchange {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Rejects with a refusal if the rest does not arrive, or not in time. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Ends the exchange, whether the answer was read or not. */
  release(): void;
}

const CONNECT_MS_MAX = 5_000;
const IDLE_MS_MAX = 30_000;
const IDLE_SOCKETS_MAX = 16;
const HEADER_BYTES_MAX = 16_384;

/**
 * Posts to a backend over kept-alive connections. It never follows redirects and has a deadline for every exchange.
 * It opens as many connections as there are concurrent calls, so callers limit their number.
 */
export class BackendHttp {
  readonly #parts: BackendHttpParts;
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;

  constructor(parts: BackendHttpParts) {
    this.#parts = parts;
    const options = {
      keepAlive: true,
      maxFreeSockets: IDLE_SOCKETS_MAX,
      timeout: IDLE_MS_MAX,
      lookup: checkedLookup(parts.resolve, parts.rules),
    };
    this.#http = new HttpAgent(options);
    this.#https = new HttpsAgent(options);
  }

  /** Starts the deadline and sends the request. */
  async post(outgoing: Outgoing): Promise<Exchange> {
    const ending = new AbortController();
    const cancel = this.#parts.timers.after(outgoing.deadlineMs, () => ending.abort(timedOut(outgoing.deadlineMs)));
    try {
      const blocked = blockedHost(outgoing.url, this.#parts.rules);
      if (blocked !== null) throw blocked;
      const response = await this.#send(outgoing, ending.signal);
      response.once('close', outgoing.onClosed);
      const { statusCode = 0, headers } = response;
      const release = () => {
        cancel();
        // A connection can be used again if its answer is complete and fully read.
        if (response.complete) response.resume();
        else ending.abort();
      };
      return { status: statusCode, headers, chunks: bodyOf(response, ending.signal, cancel), release };
    } catch (error) {
      cancel();
      outgoing.onClosed();
      throw error;
    }
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  /** Sends again on a new connection if a kept-alive one was closed by the other end at the same moment. */
  async #send(outgoing: Outgoing, signal: AbortSignal): Promise<IncomingMessage> {
    const first = await this.#attempt(outgoing, signal);
    if (!first.isStale) return first.answer;
    const second = await this.#attempt(outgoing, signal);
    return second.answer;
  }

  #attempt(
    { url, headers, body }: Outgoing,
    signal: AbortSignal,
  ): Promise<{ readonly isStale: boolean; readonly answer: Promise<IncomingMessage> }> {
    const isTls = url.protocol === 'https:';
    const options = { method: 'POST', headers, signal, maxHeaderSize: HEADER_BYTES_MAX } as const;
    const request = isTls
      ? httpsRequest(url, { ...options, agent: this.#https })
      : httpRequest(url, { ...options, agent: this.#http });
    let cancelConnect = () => {};
    request.once('socket', (socket) => {
      if (!socket.connecting) return;
      cancelConnect = this.#parts.timers.after(CONNECT_MS_MAX, () => request.destroy(timedOut(CONNECT_MS_MAX)));
      socket.once(isTls ? 'secureConnect' : 'connect', () => cancelConnect());
    });
    return new Promise((resolve) => {
      request.once('response', (response) => resolve({ isStale: false, answer: Promise.resolve(response) }));
      request.on('error', (error) => {
        cancelConnect();
        const isStale = request.reusedSocket && codeOf(error) === 'ECONNRESET' && !signal.aborted;
        const answer = Promise.reject(reasonOf(error, signal));
        // A retry ignores the first error.
        answer.catch(() => {});
        resolve({ isStale, answer });
      });
      request.end(body);
    });
  }
}

async function* bodyOf(response: IncomingMessage, signal: AbortSignal, cancel: () => void): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response) yield chunk as Uint8Array;
  } catch (error) {
    throw reasonOf(error, signal);
  } finally {
    cancel();
    // A half-read connection cannot be used again.
    if (!response.complete) response.destroy();
  }
}

/** A missed deadline shows as different errors, depending on where it is detected. */
function reasonOf(error: unknown, signal: AbortSignal): Refusal | unknown {
  if (signal.aborted && signal.reason instanceof Refusal) return signal.reason;
  return error instanceof Refusal ? error : (blockedAddressIn(error) ?? failureOf(error));
}

/** Returns the error of a blocked address unchanged, for the log. */
function blockedAddressIn(error: unknown): unknown {
  return error instanceof Error && error.name === 'BlockedAddress' ? error : null;
}

function timedOut(afterMs: number): Refusal {
  return new Refusal('backend_timeout', `the backend did not send a complete answer in ${afterMs} ms`);
}
