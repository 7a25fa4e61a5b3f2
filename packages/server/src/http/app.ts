import { randomUUID } from 'node:crypto';
import type { ServerOptions, ServerResponse } from 'node:http';
import { Refusal } from '@tidemark/protocol';
import { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { pino } from 'pino';
import {
  DISCARDED_BYTES_MAX,
  HEADER_BYTES_MAX,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_MS,
  OVERLOAD_RETRY_AFTER_S,
  PARAM_UNITS_MAX,
  REQUEST_TIMEOUT_MS,
  SOCKETS_CHECK_MS,
  STALL_MS_MAX,
  URL_BYTES_MAX,
} from '../limits.ts';
import { admitBodies } from './admit-bodies.ts';
import { ALWAYS_ANSWERED } from './always-answered.ts';
import { allowOrigins } from './cors.ts';
import { VIEWER_PATH } from './description.ts';
import { exchangeOf } from './exchange.ts';
import { announcedBytes } from './http-connection.ts';
import { HttpConnections } from './http-connections.ts';
import { parseJsonBody } from './json-body.ts';
import type { LoadGauge } from './load-gauge.ts';
import { prefersText } from './negotiate.ts';
import { problemOf } from './problem.ts';
import { refusalOf } from './refusal-of.ts';
import { METHODS_TAKEN } from './refuse-on.ts';
import { requireUnambiguous } from './require-unambiguous.ts';
import { answerSocketError, openHttpServer, unknownMethod } from './sockets.ts';
import { watchAnswers } from './watch-answers.ts';

const METHODS = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'] as const;
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);
const TOLD_PATH_UNITS_MAX = 200;

/** Where the routes of devices are, the only ones that pages of other sites may call. */
const DEVICE_PREFIX = '/sync/v1/';

declare module 'fastify' {
  interface FastifyInstance {
    /** Counts the requests that are worked on or being answered. */
    requestsOpen(): number;
    /** Lets every connection end with its next answer; requests are still taken. */
    drain(): void;
    /** True since `drain` was called. */
    isDraining(): boolean;
  }
}

export interface HttpOptions {
  readonly bodyBytesMax: number;
  /** Members of one object in a body. */
  readonly objectMembersMax?: number;
  readonly trustProxy?: boolean;
  /** Sites whose scripts may call the routes of devices. */
  readonly deviceOrigins?: readonly string[];
  /** Sockets that devices may hold beside those of everybody else, while they listen. */
  readonly listenersMax?: number;
  readonly logger?: FastifyBaseLogger;
  /** Whether more work may be taken on; absent: always. */
  readonly gauge?: Pick<LoadGauge, 'overload'>;
  /** How long a caller may take to send; for tests, which have no time. */
  readonly patience?: Partial<Patience>;
}

/** How long callers may take, and how often is looked for those who take longer. */
interface Patience {
  readonly headersMs: number;
  readonly requestMs: number;
  readonly stallMs: number;
  readonly checkMs: number;
}

const PATIENCE: Patience = {
  headersMs: HEADERS_TIMEOUT_MS,
  requestMs: REQUEST_TIMEOUT_MS,
  stallMs: STALL_MS_MAX,
  checkMs: SOCKETS_CHECK_MS,
};

/**
 * The HTTP edge without its routes: what is read and how much of it, and one shape for everything that is refused.
 * Routes are added to the app itself, not by `register`, which would add them later than the answers to other methods.
 */
export async function buildHttp(
  options: HttpOptions,
  addRoutes: (app: FastifyInstance) => Promise<void> | void,
): Promise<FastifyInstance> {
  const { bodyBytesMax, listenersMax = 0 } = options;
  const logger = options.logger ?? pino({ level: 'error' }, process.stderr);
  const answerError = errorAnswerer(logger);
  const connections = new HttpConnections();
  const app = fastify({
    // What happens to requests is watched below.
    logger: false,
    genReqId: () => randomUUID(),
    bodyLimit: bodyBytesMax,
    // One proxy: what it adds itself comes last in the header, and everything before that anybody can have written.
    trustProxy: options.trustProxy === true ? (_address: string, hop: number) => hop === 0 : false,
    serverFactory: (handle) => {
      const { headersMs, requestMs, stallMs, checkMs } = { ...PATIENCE, ...options.patience };
      const bounds = { requestMs, keepAliveMs: KEEP_ALIVE_MS, listenersMax, stallMs, checkMs };
      return openHttpServer(handle, { ...bounds, connections, http: httpOptions(headersMs, checkMs) });
    },
    // What arrives on an open connection while the server stops is answered like everything else.
    return503OnClosing: false,
    routerOptions: { maxParamLength: PARAM_UNITS_MAX },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, strict: false } },
    frameworkErrors: answerError,
    clientErrorHandler: answerSocketError,
  }) as FastifyInstance;
  app.decorate('requestsOpen', () => connections.busy);
  app.decorate('drain', () => connections.drain());
  app.decorate('isDraining', () => connections.isDraining);
  // Before the server closes what is idle by itself, which may reset a connection whose caller is sending.
  app.addHook('preClose', () => connections.endIdle());
  app.decorateRequest('bearer', null);
  app.decorateRequest('servedBy', null);
  app.setSerializerCompiler(() => JSON.stringify);
  app.setErrorHandler(answerError);
  readJsonOnly(app, options.objectMembersMax);
  // Before anything else: whatever is refused is measured, too.
  watchAnswers(app, logger);
  // Before anything is refused: scripts may read refusals, too.
  allowOrigins(app, DEVICE_PREFIX, options.deviceOrigins ?? []);
  guardRequests(app, options.gauge);
  admitBodies(app);
  const methodsByUrl = collectRoutes(app);
  await addRoutes(app);
  refuseOtherMethods(app, methodsByUrl);
  return app;
}

function httpOptions(headersTimeout: number, connectionsCheckingInterval: number): ServerOptions {
  // A missing Host is looked for by a hook, which answers in our own shape.
  return { maxHeaderSize: HEADER_BYTES_MAX, headersTimeout, connectionsCheckingInterval, requireHostHeader: false };
}

function readJsonOnly(app: FastifyInstance, objectMembersMax?: number): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) =>
    // Many clients name a type with every request. Of a request that needs no body, none is expected.
    request.method === 'DELETE' && body.length === 0 ? undefined : parseJsonBody(body, objectMembersMax),
  );
}

/** In hooks before the body is read, so that what is refused anyway costs no parsing and is never called malformed. */
function guardRequests(app: FastifyInstance, gauge: Pick<LoadGauge, 'overload'> = NO_LOAD): void {
  // The hook below refuses every unknown path; this one is for files that the viewer does not have.
  app.setNotFoundHandler((request) => {
    throw new Refusal('not_found', `there is nothing at ${toldPath(request)}`);
  });
  // Not async: a promise for every request would cost more than the checks.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done(
      refusalBefore(() => {
        if (gauge.overload !== null) shedLoad(request, gauge.overload);
        guardRequest(request, reply);
      }),
    );
  });
}

const NO_LOAD = { overload: null };

function shedLoad(request: FastifyRequest, overload: string): void {
  if (ALWAYS_ANSWERED.has(request.routeOptions.url)) return;
  throw new Refusal('overloaded', `${overload}; nothing was done`, [], OVERLOAD_RETRY_AFTER_S);
}

function refusalBefore(guard: () => void): Error | undefined {
  try {
    guard();
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

function guardRequest(request: FastifyRequest, reply: FastifyReply): void {
  if (!KNOWN_METHODS.has(request.method)) {
    reply.header('allow', METHODS_TAKEN);
    throw unknownMethod(request.method);
  }
  if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
    throw new Refusal('invalid_request', 'a request needs a Host header');
  }
  requireUnambiguous(request.raw.rawHeaders);
  if (request.url.length > URL_BYTES_MAX) {
    throw new Refusal('uri_too_long', `the address is longer than ${URL_BYTES_MAX} characters`);
  }
  if (request.is404) throw new Refusal('not_found', `there is nothing at ${toldPath(request)}`);
  const encoding = request.headers['content-encoding'] || 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new Refusal('unsupported_media_type', `a body compressed with ${JSON.stringify(encoding)} is not accepted`);
  }
}

function collectRoutes(app: FastifyInstance): ReadonlyMap<string, Set<string>> {
  const methodsByUrl = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    // The viewer looks after its own paths.
    if (url.startsWith(VIEWER_PATH)) return;
    const methods = methodsByUrl.get(url) ?? new Set();
    for (const name of [method].flat()) methods.add(name);
    methodsByUrl.set(url, methods);
  });
  return methodsByUrl;
}

/** A path that is served answers the other methods with what it takes instead. The router itself finds the path. */
function refuseOtherMethods(app: FastifyInstance, methodsByUrl: ReadonlyMap<string, Set<string>>): void {
  for (const [url, taken] of [...methodsByUrl]) {
    const allowed = [...taken].sort().join(', ');
    const shared = methodsOfSiblings(url, methodsByUrl);
    const method = METHODS.filter((name) => !taken.has(name) && !shared.has(name));
    if (method.length === 0) continue;
    app.route({
      method,
      url,
      schema: { hide: true },
      onRequest: async (request, reply) => {
        reply.header('allow', allowed);
        throw new Refusal('method_not_allowed', `${toldPath(request)} takes ${allowed}, not ${request.method}`);
      },
      handler: () => undefined,
    });
  }
}

/** `/users/ping` stands beside `/users/:user_id`: what the one does not take may still mean the user of that name. */
function methodsOfSiblings(url: string, methodsByUrl: ReadonlyMap<string, Set<string>>): ReadonlySet<string> {
  const parent = url.slice(0, url.lastIndexOf('/') + 1);
  const siblings = [...methodsByUrl].filter(
    ([other]) => other.startsWith(`${parent}:`) && !other.slice(parent.length).includes('/'),
  );
  return url.slice(parent.length).startsWith(':')
    ? new Set()
    : new Set(siblings.flatMap(([, methods]) => [...methods]));
}

/** Without the query, which may hold what nobody should read again. */
function toldPath(request: FastifyRequest): string {
  const [path = ''] = request.url.split('?', 1);
  return JSON.stringify(path.length > TOLD_PATH_UNITS_MAX ? `${path.slice(0, TOLD_PATH_UNITS_MAX)}…` : path);
}

type ErrorAnswerer = (error: Error, request: FastifyRequest, reply: FastifyReply) => void;

function errorAnswerer(logger: FastifyBaseLogger): ErrorAnswerer {
  return (error, request, reply) => {
    const refusal = refusalOf(error);
    if (refusal.code === 'internal') logger.error({ err: error, request_id: request.id }, 'a request failed');
    // What the engine said of its files and disk is for the operator, not for the caller.
    else if (refusal.cause instanceof Error) {
      logger.error({ code: refusal.code, reason: refusal.cause.message, request_id: request.id }, 'store_failed');
    }
    answerRefusal(refusal, request, reply);
  };
}

function answerRefusal(refusal: Refusal, request: FastifyRequest, reply: FastifyReply): void {
  if (exchangeOf(reply.raw).isSpent) return;
  const problem = problemOf(refusal, request.id);
  reply.code(problem.status).header('cache-control', 'no-store').header('x-request-id', request.id);
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer realm="tidemark"');
  if (refusal.retryAfterS !== null) reply.header('retry-after', String(refusal.retryAfterS));
  const isLeftUnread = !request.raw.complete && announcedBytes(request.raw) > DISCARDED_BYTES_MAX;
  if (isLeftUnread) reply.header('connection', 'close');
  else if (refusal.code === 'body_too_large') {
    // The framework would close the connection; the rest of the body is short enough to be read.
    reply.removeHeader('connection');
    request.raw.resume();
  }
  if (prefersText(request.headers.accept)) {
    reply.type('text/plain; charset=utf-8').header('x-content-type-options', 'nosniff').send(problem.detail);
  } else {
    // As bytes, because what is already JSON text must not meet a serializer again.
    reply.type('application/problem+json').send(Buffer.from(JSON.stringify(problem)));
  }
  if (isLeftUnread) leaveClosingToUs(reply.raw);
}

/**
 * Node.js closes the socket as soon as an answer with `Connection: close` has left. The caller may still be sending, and
 * would lose the answer; the connection closes after a while instead.
 */
function leaveClosingToUs(response: ServerResponse): void {
  (response as ServerResponse & { _last: boolean })._last = false;
}
