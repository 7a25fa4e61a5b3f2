import { createPublicKey, type KeyObject } from 'node:crypto';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { TEST_ONLY_CERTIFICATE, TEST_ONLY_PRIVATE_KEY } from './test-only-certificate.ts';
import { verifyJwt } from './verify-jwt.ts';

export interface FcmRequest {
  readonly token: string;
  readonly message: Readonly<Record<string, unknown>>;
}

/** `cut`: accepts the request, then drops the connection. `silence`: accepts it and never answers. */
export type FcmBehaviour =
  | { readonly status: number; readonly errorCode?: string; readonly grpc?: string; readonly retryAfterS?: number }
  | 'cut'
  | 'silence';

/** What the token endpoint does with a valid assertion. */
export interface GrantBehaviour {
  readonly status: number;
  readonly error?: string;
  readonly retryAfterS?: number;
}

export interface FcmStandInOptions {
  readonly projectId: string;
  readonly clientEmail: string;
  /** PEM of the account's key. */
  readonly key: string;
  readonly nowMs?: () => number;
  /** How long a token is valid. */
  readonly tokenS?: number;
  readonly behave?: (request: FcmRequest, index: number) => FcmBehaviour;
  readonly grant?: (index: number) => GrantBehaviour;
}

export interface FcmStandIn {
  readonly origin: string;
  readonly tokenUri: string;
  readonly taken: readonly FcmRequest[];
  /** Assertions seen so far. */
  readonly assertions: number;
  /** Messages sent with `validate_only`. */
  readonly dryRuns: number;
  /** Invalidates all granted tokens. */
  revokeTokens(): void;
  close(): Promise<void>;
}

const PAYLOAD_BYTES_MAX = 4_096;
const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const OK: FcmBehaviour = { status: 200 };

/** Opens Google's token endpoint and FCM's HTTP v1 API on loopback. They refuse what the real ones would refuse. */
export async function openFcmStandIn(options: FcmStandInOptions): Promise<FcmStandIn> {
  const service = new Service(options);
  const server = createSecureServer({ key: TEST_ONLY_PRIVATE_KEY, cert: TEST_ONLY_CERTIFICATE, allowHTTP1: true });
  const sockets = new Set<{ destroy(): void }>();
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('request', (request, response) => {
    void service.answer(request, response, () => {
      for (const socket of sockets) socket.destroy();
    });
  });
  server.on('sessionError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  service.origin = `https://localhost:${(server.address() as AddressInfo).port}`;
  return {
    origin: service.origin,
    tokenUri: service.tokenUri,
    get taken() {
      return service.taken;
    },
    get assertions() {
      return service.assertions;
    },
    get dryRuns() {
      return service.dryRuns;
    },
    revokeTokens: () => service.tokens.clear(),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Reply {
  readonly status: number;
  readonly body: object;
  readonly retryAfterS?: number | undefined;
}

class Service {
  readonly taken: FcmRequest[] = [];
  assertions = 0;
  dryRuns = 0;
  origin = '';
  /** Granted tokens, and until when they are valid. */
  readonly tokens = new Map<string, number>();
  readonly #options: FcmStandInOptions;
  readonly #key: KeyObject;

  constructor(options: FcmStandInOptions) {
    this.#options = options;
    this.#key = createPublicKey(options.key);
  }

  get tokenUri(): string {
    return `${this.origin}/token`;
  }

  async answer(request: Http2ServerRequest, response: Http2ServerResponse, cut: () => void): Promise<void> {
    let body = '';
    request.setEncoding('utf8');
    for await (const chunk of request) body += chunk as string;
    const answer = this.#answerTo(request, body);
    if (answer === 'cut') cut();
    else if (answer !== 'silence') send(response, answer);
  }

  #answerTo(request: Http2ServerRequest, body: string): Reply | 'cut' | 'silence' {
    if (request.method !== 'POST') return { status: 405, body: {} };
    if (request.url === '/token') return this.#grant(new URLSearchParams(body));
    const isForUs = request.url === `/v1/projects/${this.#options.projectId}/messages:send`;
    return isForUs ? this.#take(request.headers.authorization ?? '', body) : errorReply(404, 'NOT_FOUND');
  }

  #grant(form: URLSearchParams): Reply {
    const index = this.assertions++;
    if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') {
      return { status: 400, body: { error: 'unsupported_grant_type' } };
    }
    if (!this.#isGenuine(form.get('assertion') ?? '')) return { status: 400, body: { error: 'invalid_grant' } };
    const { status, error, retryAfterS } = this.#options.grant?.(index) ?? { status: 200 };
    if (status !== 200) return { status, body: error === undefined ? {} : { error }, retryAfterS };
    const { tokenS = 3_600 } = this.#options;
    const token = `ya29.${index}`;
    this.tokens.set(token, this.#nowMs() + tokenS * 1_000);
    return { status: 200, body: { access_token: token, expires_in: tokenS, token_type: 'Bearer' } };
  }

  #isGenuine(assertion: string): boolean {
    const claims = verifyJwt(assertion, this.#key, 'RS256')?.claims;
    if (claims === undefined) return false;
    const { iss, aud, scope, iat, exp } = claims as Record<string, unknown>;
    const nowS = this.#nowMs() / 1_000;
    const isTimely =
      typeof iat === 'number' && typeof exp === 'number' && iat <= nowS + 60 && exp > nowS && exp - iat <= 3_600;
    return isTimely && iss === this.#options.clientEmail && aud === this.tokenUri && scope === SCOPE;
  }

  #take(authorization: string, body: string): Reply | 'cut' | 'silence' {
    const [, token = ''] = /^Bearer (\S+)$/.exec(authorization) ?? [];
    if ((this.tokens.get(token) ?? 0) <= this.#nowMs()) return errorReply(401, 'UNAUTHENTICATED');
    const message = readMessage(body);
    if (message === null) return errorReply(400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT');
    const taken = { token: String(message.token), message };
    const behaviour = this.#options.behave?.(taken, this.taken.length) ?? OK;
    if (isDry(body)) this.dryRuns++;
    else this.taken.push(taken);
    if (typeof behaviour === 'string') return behaviour;
    const { status, errorCode, grpc = 'UNKNOWN', retryAfterS } = behaviour;
    const name = `projects/${this.#options.projectId}/messages/${this.taken.length}`;
    return status === 200 ? { status, body: { name } } : { ...errorReply(status, grpc, errorCode), retryAfterS };
  }

  #nowMs(): number {
    return this.#options.nowMs?.() ?? Date.now();
  }
}

/** Returns the message, unless FCM would refuse it: data must be strings, keys not reserved, the whole small enough. */
function readMessage(body: string): Readonly<Record<string, unknown>> | null {
  const { message } = JSON.parse(body) as { readonly message?: Record<string, unknown> };
  if (message === undefined || typeof message.token !== 'string' || message.token === '') return null;
  const { data = {}, notification } = message as { data?: Record<string, unknown>; notification?: unknown };
  const isPlain = Object.entries(data).every(
    ([key, value]) => typeof value === 'string' && !/^(?:from|message_type|google.*|gcm.*)$/.test(key),
  );
  const content = JSON.stringify(notification === undefined ? { data } : { notification, data });
  return isPlain && Buffer.byteLength(content) <= PAYLOAD_BYTES_MAX ? message : null;
}

function isDry(body: string): boolean {
  return (JSON.parse(body) as { readonly validate_only?: unknown }).validate_only === true;
}

function errorReply(status: number, word: string, errorCode?: string): Reply {
  const type = 'type.googleapis.com/google.firebase.fcm.v1.FcmError';
  const details = errorCode === undefined ? [] : [{ '@type': type, errorCode }];
  return { status, body: { error: { code: status, message: 'told by the stand-in', status: word, details } } };
}

function send(response: Http2ServerResponse, { status, body, retryAfterS }: Reply): void {
  const retryAfter = retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) };
  response.writeHead(status, { 'content-type': 'application/json', ...retryAfter });
  response.end(JSON.stringify(body));
}
