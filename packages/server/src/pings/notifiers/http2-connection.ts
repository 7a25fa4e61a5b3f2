import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { isIP } from 'node:net';
import { connect as connectSocket, type TLSSocket } from 'node:tls';
import type { Timers } from '../../jobs/timers.ts';
import { CoarseDeadlines } from '../../outbound/coarse-deadlines.ts';

export interface Http2Request {
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
}

export type Http2Reply =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfter: string | null;
      readonly body: string;
    }
  /** The service has certainly not seen the request. */
  | { readonly kind: 'not_sent'; readonly reason: string }
  /** The service may have processed the request. */
  | { readonly kind: 'lost'; readonly reason: string };

export interface Http2ConnectionParts {
  readonly origin: string;
  readonly ca?: readonly string[] | undefined;
  readonly streamsMax: number;
  readonly timeoutMs: number;
  readonly timers: Timers;
  /** Called when the connection can take another request. */
  readonly onRoom: () => void;
  /** Called when the connection takes no more requests; those under way may still be answered. */
  readonly onEnd: (reason: string) => void;
  /** Called when the connection is closed. */
  readonly onClose: () => void;
}

/** The interval of keep-alive pings: routers drop connections that are silent for long. */
const KEEP_ALIVE_MS = 60_000;
const ANSWER_BYTES_MAX = 16_384;

/** One HTTP/2 connection with concurrent requests. */
export class Http2Connection {
  readonly #parts: Http2ConnectionParts;
  readonly #socket: TLSSocket;
  readonly #session: ClientHttp2Session;
  #isReady = false;
  #isEnded = false;
  #underWay = 0;
  /** The last stream that the service says it has processed; null before a GOAWAY. */
  #lastSeen: number | null = null;
  #cancelTimer: () => void;
  readonly #deadlines: CoarseDeadlines<Exchange>;

  constructor(parts: Http2ConnectionParts) {
    this.#parts = parts;
    this.#socket = secureSocket(parts);
    this.#session = connect(parts.origin, { createConnection: () => this.#socket });
    const { timers, timeoutMs } = parts;
    this.#deadlines = new CoarseDeadlines({ timers, waitMs: timeoutMs, onLate: (late) => this.#timeOut(late) });
    this.#cancelTimer = timers.after(timeoutMs, () => this.#break(`no connection in ${timeoutMs} ms`));
    this.#session.once('remoteSettings', () => this.#begin());
    this.#session.on('remoteSettings', () => this.#parts.onRoom());
    this.#session.on('goaway', (_code, lastSeen) => this.#onGoaway(lastSeen));
    this.#session.on('error', (error) => this.#end(reasonOf(error)));
    this.#session.on('close', () => {
      this.#end('the connection was closed');
      this.#parts.onClose();
    });
  }

  /** True when the service has sent its settings. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** The number of requests that can be added now. */
  get room(): number {
    if (!this.#isReady || this.#isEnded) return 0;
    const allowed = this.#session.remoteSettings.maxConcurrentStreams ?? this.#parts.streamsMax;
    return Math.min(this.#parts.streamsMax, allowed) - this.#underWay;
  }

  /** Reserves a stream for a request that is about to be sent. */
  reserve(): this {
    this.#underWay++;
    return this;
  }

  /** Sends a request on a reserved stream. */
  send({ headers, body }: Http2Request): Promise<Http2Reply> {
    if (this.#session.destroyed || this.#session.closed) {
      this.#releaseStream();
      return Promise.resolve({ kind: 'not_sent', reason: 'the connection was closed' });
    }
    return new Promise((resolve, reject) => {
      try {
        const exchange = new Exchange(this.#session.request(headers), (over) => this.#finish(over, resolve));
        this.#deadlines.add(exchange);
        exchange.stream.end(body);
      } catch (error) {
        this.#releaseStream();
        reject(error);
      }
    });
  }

  /** Closes the connection after the requests under way. */
  close(): void {
    this.#end('the connection was closed');
  }

  #begin(): void {
    this.#isReady = true;
    this.#cancelTimer();
    this.#keepAlive();
  }

  #keepAlive(): void {
    let isAlive = false;
    this.#session.ping((error) => {
      isAlive = error === null;
    });
    this.#cancelTimer = this.#parts.timers.after(KEEP_ALIVE_MS, () => {
      if (isAlive) this.#keepAlive();
      else this.#break('the connection does not respond');
    });
  }

  #onGoaway(lastSeen: number): void {
    this.#lastSeen = lastSeen;
    this.#end('the service closed the connection');
  }

  #break(reason: string): void {
    this.#end(reason);
    this.#session.destroy();
  }

  #end(reason: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#cancelTimer();
    this.#parts.onEnd(reason);
    this.#closeIfIdle();
  }

  /** Closes the session once no request is under way. After a GOAWAY it would wait for the other side forever. */
  #closeIfIdle(): void {
    if (this.#underWay > 0) return;
    this.#deadlines.close();
    this.#session.destroy();
    this.#socket.destroy();
  }

  #finish(exchange: Exchange, resolve: (reply: Http2Reply) => void): void {
    this.#deadlines.delete(exchange);
    const { reply } = exchange;
    this.#releaseStream();
    if (reply !== null) resolve(reply);
    // The streams may learn of a GOAWAY before the session does.
    else setImmediate(() => resolve(this.#unanswered(exchange)));
  }

  #releaseStream(): void {
    this.#underWay--;
    if (this.#isEnded) this.#closeIfIdle();
    else if (this.room > 0) this.#parts.onRoom();
  }

  #timeOut(exchange: Exchange): void {
    const reason = `no answer in ${this.#parts.timeoutMs} ms`;
    // The connection may be dead, so no more requests are sent on it.
    this.#end(reason);
    exchange.giveUp(reason);
  }

  #unanswered({ stream, reason }: Exchange): Http2Reply {
    const isUnseen = this.#lastSeen !== null && stream.id !== undefined && stream.id > this.#lastSeen;
    const isRefused = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
    return { kind: isUnseen || isRefused || stream.id === undefined ? 'not_sent' : 'lost', reason: reason };
  }
}

function secureSocket({ origin, ca }: Http2ConnectionParts): TLSSocket {
  const { hostname, port } = new URL(origin);
  const host = hostname.replace(/^\[|\]$/g, '');
  // An IP address cannot be a TLS server name.
  const servername = isIP(host) === 0 ? host : '';
  const trusted = ca === undefined ? {} : { ca: [...ca] };
  return connectSocket({ host, port: Number(port || HTTPS_PORT), servername, ALPNProtocols: ['h2'], ...trusted });
}

const HTTPS_PORT = 443;

const CONNECTION_LOST = 'the connection was cut';

/** One request and its answer so far. Most answers have no body, so a buffer is created on demand. */
class Exchange {
  readonly stream: ClientHttp2Stream;
  /** Why there is no answer. */
  reason = CONNECTION_LOST;
  #status: number | null = null;
  #retryAfter: string | null = null;
  #chunks: Buffer[] | null = null;
  #bytes = 0;
  #hasEnded = false;
  readonly #onEnd: (exchange: Exchange) => void;

  constructor(stream: ClientHttp2Stream, onEnd: (exchange: Exchange) => void) {
    this.stream = stream;
    this.#onEnd = onEnd;
    stream.on('response', (headers) => {
      this.#status = headers[':status'] ?? null;
      const { 'retry-after': retryAfter } = headers;
      this.#retryAfter = typeof retryAfter === 'string' ? retryAfter : null;
    });
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
    stream.on('error', (error) => {
      if (this.reason === CONNECTION_LOST) this.reason = reasonOf(error);
    });
    stream.on('close', () => this.#end());
  }

  /** Does not wait for the end of the stream, which never comes if the other side has stopped reading. */
  giveUp(reason: string): void {
    this.reason = reason;
    this.stream.close(constants.NGHTTP2_CANCEL);
    this.#end();
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#onEnd(this);
  }

  /** Returns the answer as soon as the status is known, also if the rest was cut off. */
  get reply(): Http2Reply | null {
    if (this.#status === null) return null;
    const body = this.#chunks === null ? '' : Buffer.concat(this.#chunks).toString();
    return { kind: 'answered', status: this.#status, retryAfter: this.#retryAfter, body };
  }

  #take(chunk: Buffer): void {
    this.#chunks ??= [];
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > ANSWER_BYTES_MAX) this.stream.close(constants.NGHTTP2_CANCEL);
  }
}

/** Returns the system code and never the message, which may contain details that do not belong into a log. */
function reasonOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
