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
  /** For the whole exchange, to the last byte of the answer. */
  readonly deadlineMs: number;
  /** Called once, when the exchange no longer uses a connection, whether it went well or not. */
  readonly onClosed: () => void;
}

/** What comes back. Whoever gets it must read it to its end or let go of it. */
export interface Exchange {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Rejects with a refusal when the rest does not come, or not in time. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Ends the exchange, read or not. */
  letGo(): void;
}

const CONNECT_MS_MAX = 5_000;
const IDLE_MS_MAX = 30_000;
const IDLE_SOCKETS_MAX = 16;
const HEADER_BYTES_MAX = 16_384;

/**
 * Posts to a backend over connections that are kept, never follows a redirect and never waits without end. It opens as
 * many connections as it is given calls: whoever calls bounds how many there are at once.
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

  /** The deadline starts now. */
  async post(outgoing: Outgoing): Promise<Exchange> {
    const ending = new AbortController();
    const cancel = this.#parts.timers.after(outgoing.deadlineMs, () => ending.abort(tooLate(outgoing.deadlineMs)));
    try {
      const blocked = blockedHost(outgoing.url, this.#parts.rules);
      if (blocked !== null) throw blocked;
      const response = await this.#send(outgoing, ending.signal);
      response.once('close', outgoing.onClosed);
      const { statusCode = 0, headers } = response;
      const letGo = () => {
        cancel();
        // A connection whose answer has arrived whole can be used again, once nothing of it is left unread.
        if (response.complete) response.resume();
        else ending.abort();
      };
      return { status: statusCode, headers, chunks: bodyOf(response, ending.signal, cancel), letGo };
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

  /** A kept connection may have been closed at the other end just now: then the call goes out once more on a new one. */
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
      cancelConnect = this.#parts.timers.after(CONNECT_MS_MAX, () => request.destroy(tooLate(CONNECT_MS_MAX)));
      socket.once(isTls ? 'secureConnect' : 'connect', () => cancelConnect());
    });
    return new Promise((resolve) => {
      request.once('response', (response) => resolve({ isStale: false, answer: Promise.resolve(response) }));
      request.on('error', (error) => {
        cancelConnect();
        const isStale = request.reusedSocket && codeOf(error) === 'ECONNRESET' && !signal.aborted;
        const answer = Promise.reject(reasonOf(error, signal));
        // Whoever tries again does not look at it.
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
    // Left half-way, the connection is of no more use.
    if (!response.complete) response.destroy();
  }
}

/** Being too late shows as all kinds of errors, depending on where it was noticed. */
function reasonOf(error: unknown, signal: AbortSignal): Refusal | unknown {
  if (signal.aborted && signal.reason instanceof Refusal) return signal.reason;
  return error instanceof Refusal ? error : (blockedIn(error) ?? failureOf(error));
}

/** Kept as it is, for the log. */
function blockedIn(error: unknown): unknown {
  return error instanceof Error && error.name === 'BlockedAddress' ? error : null;
}

function tooLate(afterMs: number): Refusal {
  return new Refusal('backend_timeout', `the backend did not answer to the end in ${afterMs} ms`);
}
