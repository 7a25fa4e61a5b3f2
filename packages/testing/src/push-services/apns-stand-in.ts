import { createPublicKey, type KeyObject } from 'node:crypto';
import {
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { TEST_ONLY_CERTIFICATE, TEST_ONLY_PRIVATE_KEY } from './test-only-certificate.ts';
import { verifyJwt } from './verify-jwt.ts';

export interface ApnsRequest {
  readonly device: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/**
 * What the stand-in does with a valid request. `cut`: accepts it, then drops the connection. `silence`: accepts it and
 * never answers. `refuse_stream`: refuses the stream. `go_away`: answers it and sends GOAWAY on its connection, ignoring
 * everything after it.
 */
export type ApnsBehaviour =
  | { readonly status: number; readonly reason?: string; readonly retryAfterS?: number }
  | 'cut'
  | 'silence'
  | 'refuse_stream'
  | 'go_away';

export interface ApnsStandInOptions {
  /** PEM of the private or public key that the operator registered. */
  readonly key: string;
  readonly keyId: string;
  readonly teamId: string;
  readonly topics: readonly string[];
  readonly nowMs?: () => number;
  readonly streamsMax?: number;
  /** Called for each valid request in the order of arrival; by default all are accepted. */
  readonly behave?: (request: ApnsRequest, index: number) => ApnsBehaviour;
  /** True: requests are kept. Benchmarks send too many for that. */
  readonly isForgetful?: boolean;
}

export interface ApnsStandIn {
  readonly origin: string;
  /** Accepted requests in the order of arrival, whatever was answered. */
  readonly taken: readonly ApnsRequest[];
  readonly takenCount: number;
  readonly connections: number;
  readonly connectionsEver: number;
  readonly connectionsMostAtOnce: number;
  close(): Promise<void>;
}

const PAYLOAD_BYTES_MAX = 4_096;
const TOKEN_AGE_S_MAX = 3_600;
const OK = { status: 200 };

/** Opens a server on loopback that speaks Apple's protocol and refuses what Apple would refuse. */
export async function openApnsStandIn(options: ApnsStandInOptions): Promise<ApnsStandIn> {
  const service = new Service(options);
  const server = createSecureServer({
    key: TEST_ONLY_PRIVATE_KEY,
    cert: TEST_ONLY_CERTIFICATE,
    settings: { maxConcurrentStreams: options.streamsMax ?? 1_000 },
  });
  server.on('secureConnection', (socket) => service.greet(socket));
  server.on('session', (session) => service.meet(session));
  server.on('stream', (stream, headers) => service.hear(stream, headers));
  // A client that is cut off, or cuts us off, is what the tests are about.
  server.on('sessionError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `https://localhost:${(server.address() as AddressInfo).port}`,
    get taken() {
      return service.taken;
    },
    get takenCount() {
      return service.takenCount;
    },
    get connections() {
      return service.sockets.size;
    },
    get connectionsEver() {
      return service.connectionsEver;
    },
    get connectionsMostAtOnce() {
      return service.mostAtOnce;
    },
    async close() {
      for (const session of service.sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

class Service {
  readonly sessions = new Set<ServerHttp2Session>();
  /** By the remote port. */
  readonly sockets = new Map<number, Socket>();
  readonly taken: ApnsRequest[] = [];
  takenCount = 0;
  connectionsEver = 0;
  mostAtOnce = 0;
  readonly #options: ApnsStandInOptions;
  readonly #key: KeyObject;
  /** Tokens with a valid signature, and when they were issued. */
  readonly #tokens = new Map<string, number>();
  /** The last valid stream of each connection that got a GOAWAY. */
  readonly #lastStreams = new WeakMap<ServerHttp2Session, number>();

  constructor(options: ApnsStandInOptions) {
    this.#options = options;
    this.#key = createPublicKey(options.key);
  }

  greet(socket: Socket): void {
    const port = socket.remotePort ?? 0;
    this.sockets.set(port, socket);
    this.connectionsEver++;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.sockets.size);
    // A closed socket ends its session, whatever the session still waits for.
    socket.on('end', () => socket.destroy());
    socket.on('close', () => this.sockets.delete(port));
  }

  meet(session: ServerHttp2Session): void {
    this.sessions.add(session);
    session.on('close', () => this.sessions.delete(session));
    session.on('error', () => undefined);
  }

  hear(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on('error', () => undefined);
    let body = '';
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => {
      body += chunk;
    });
    stream.on('end', () => this.#answer(stream, headers, body));
  }

  #answer(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, body: string): void {
    const session = stream.session as ServerHttp2Session | undefined;
    if (session === undefined || this.#isTooLate(session, stream)) return;
    const flaw = this.#flawOf(headers, body);
    if (flaw === null) this.#take(session, stream, { device: deviceOf(headers), headers, body });
    else respond(stream, headers, { status: flaw[0], reason: flaw[1] });
  }

  #take(session: ServerHttp2Session, stream: ServerHttp2Stream, request: ApnsRequest): void {
    const behaviour = this.#options.behave?.(request, this.takenCount) ?? OK;
    if (behaviour === 'refuse_stream') {
      stream.close(REFUSED_STREAM);
      return;
    }
    this.takenCount++;
    if (this.#options.isForgetful !== true) this.taken.push(request);
    if (behaviour === 'cut') this.#cut(session);
    else if (behaviour === 'go_away') this.#sayGoodbye(session, stream, request);
    else if (behaviour !== 'silence') respond(stream, request.headers, behaviour);
  }

  #sayGoodbye(session: ServerHttp2Session, stream: ServerHttp2Stream, { headers }: ApnsRequest): void {
    respond(stream, headers, OK);
    this.#lastStreams.set(session, stream.id ?? 0);
    session.goaway(0, stream.id ?? 0);
  }

  /** Finds the socket of a session by its port, because Node.js forbids using it through the session. */
  #cut(session: ServerHttp2Session): void {
    this.sockets.get(session.socket.remotePort ?? 0)?.destroy();
  }

  #isTooLate(session: ServerHttp2Session, stream: ServerHttp2Stream): boolean {
    const last = this.#lastStreams.get(session);
    return last !== undefined && (stream.id ?? 0) > last;
  }

  #flawOf(headers: IncomingHttpHeaders, body: string): readonly [number, string] | null {
    if (headers[':method'] !== 'POST') return [405, 'MethodNotAllowed'];
    const device = deviceOf(headers);
    if (device === '') return [404, 'BadPath'];
    return this.#tokenFlaw(headers) ?? this.#headerFlaw(headers) ?? bodyFlaw(body) ?? deviceFlaw(device);
  }

  #tokenFlaw({ authorization }: IncomingHttpHeaders): readonly [number, string] | null {
    const [, token] = /^bearer (\S+)$/.exec(authorization ?? '') ?? [];
    if (token === undefined) return [403, 'MissingProviderToken'];
    const issuedAtS = this.#tokens.get(token) ?? this.#issuedAtS(token);
    if (issuedAtS === null) return [403, 'InvalidProviderToken'];
    this.#tokens.set(token, issuedAtS);
    const nowS = (this.#options.nowMs?.() ?? Date.now()) / 1_000;
    return nowS - issuedAtS > TOKEN_AGE_S_MAX ? [403, 'ExpiredProviderToken'] : null;
  }

  #issuedAtS(token: string): number | null {
    const jwt = verifyJwt(token, this.#key, 'ES256');
    const { keyId, teamId } = this.#options;
    const isRight = jwt !== null && jwt.header.kid === keyId && jwt.claims.iss === teamId;
    return isRight && typeof jwt.claims.iat === 'number' ? jwt.claims.iat : null;
  }

  #headerFlaw(headers: IncomingHttpHeaders): readonly [number, string] | null {
    const topic = headers['apns-topic'];
    if (topic === undefined) return [400, 'MissingTopic'];
    if (!this.#options.topics.includes(String(topic))) return [400, 'TopicDisallowed'];
    if (!UUID.test(String(headers['apns-id']))) return [400, 'BadMessageId'];
    if (!/^[0-9]{1,12}$/.test(String(headers['apns-expiration']))) return [400, 'BadExpirationDate'];
    if (Buffer.byteLength(String(headers['apns-collapse-id'] ?? '')) > 64) return [400, 'BadCollapseId'];
    const type = String(headers['apns-push-type']);
    if (type !== 'alert' && type !== 'background') return [400, 'InvalidPushType'];
    const isUrgent = headers['apns-priority'] === '10';
    return type === 'background' && isUrgent ? [400, 'BadPriority'] : null;
  }
}

const REFUSED_STREAM = 7;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function deviceOf(headers: IncomingHttpHeaders): string {
  return /^\/3\/device\/([^/]+)$/.exec(headers[':path'] ?? '')?.[1] ?? '';
}

function bodyFlaw(body: string): readonly [number, string] | null {
  if (body === '') return [400, 'PayloadEmpty'];
  if (Buffer.byteLength(body) > PAYLOAD_BYTES_MAX) return [413, 'PayloadTooLarge'];
  const payload = JSON.parse(body) as { readonly aps?: unknown };
  return typeof payload.aps === 'object' ? null : [400, 'BadPayload'];
}

/** Real tokens have 64 digits. Test tokens that begin with `bad` are unknown. */
function deviceFlaw(device: string): readonly [number, string] | null {
  return /^[0-9a-f]{64}$/.test(device) && !device.startsWith('bad') ? null : [400, 'BadDeviceToken'];
}

function respond(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { status, reason, retryAfterS }: Exclude<ApnsBehaviour, string>,
): void {
  if (stream.destroyed) return;
  const retryAfter = retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) };
  stream.respond({ ':status': status, 'apns-id': String(headers['apns-id']), ...retryAfter });
  stream.end(reason === undefined ? '' : JSON.stringify({ reason }));
}
