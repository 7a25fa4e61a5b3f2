import { randomUUID } from 'node:crypto';
import type { ServerOptions } from 'node:http';
import { Refusal } from '@tidemark/protocol';
import { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { pino } from 'pino';
import { requireUnambiguous } from '../auth/require-unambiguous.ts';
import {
  DISCARDED_BYTES_MAX,
  HEADER_BYTES_MAX,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_MS,
  PARAM_UNITS_MAX,
  REMEMBERED_BODY_BYTES_MAX,
  REQUEST_TIMEOUT_MS,
  SOCKETS_CHECK_MS,
  STALL_MS_MAX,
  URL_BYTES_MAX,
} from '../limits.ts';
import { RefusalWithHeaders } from '../primitives/refusal-with-headers.ts';
import { admitBodies } from './admit-bodies.ts';
import { allowOrigins } from './cors.ts';
import { VIEWER_PATH } from './description.ts';
import { beginRequest, type RequestRule, refusalOfRequest, requestRules } from './every-request.ts';
import { exchangeOf } from './exchange.ts';
import { announcedBytes, HttpConnection } from './http-connection.ts';
import { HttpConnections } from './http-connections.ts';
import { DEFAULT_BODY_BOUNDS, parseJsonBody } from './json-body.ts';
import { lazyValidators } from './lazy-validators.ts';
import type { LoadGauge } from './load-gauge.ts';
import { prefersText } from './negotiate.ts';
import { PathMethods } from './path-methods.ts';
import { problemOf, refusalOf } from './problem.ts';
import { ALLOWED_METHODS } from './refuse-on.ts';
import { repeatAnswers } from './repeated-answers.ts';
import { shownPath } from './shown-path.ts';
import { answerSocketError, openHttpServer, unknownMethod } from './sockets.ts';
import { type EndedListener, EndedListeners } from './watch-answers.ts';

const METHODS = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'] as const;
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);

/** The routes for devices, the only ones that scripts of other sites may call. */
const DEVICE_PREFIX = '/sync/v1/';

declare module 'fastify' {
  interface FastifyInstance {
    /** Counts the requests that are being processed or answered. */
    requestsOpen(): number;
    /** Closes every connection after its next answer. New requests are still answered. */
    drain(): void;
    /** True since `drain` was called. */
    isDraining(): boolean;
  }
  interface FastifyRequest {
    /** True: the caller uses HTTPS, as the proxy in front or the public URL of the server says. */
    readonly isSecure: boolean;
  }
}

export interface HttpOptions {
  readonly bodyBytesMax: number;
  /** The bounds of bodies that devices send, and of all others. */
  readonly bodyBounds?: typeof DEFAULT_BODY_BOUNDS;
  readonly trustProxy?: boolean;
  /** True: everybody reaches the server over HTTPS, because its public URL is one of HTTPS. */
  readonly isPublicHttps?: boolean;
  /** Origins whose scripts may call the routes for devices. */
  readonly deviceOrigins?: readonly string[];
  /** Sockets reserved for devices that listen for events, in addition to those for requests. */
  readonly listenersMax?: number;
  readonly logger?: FastifyBaseLogger;
  /** Refuses requests while the server is overloaded. Absent: never. */
  readonly gauge?: Pick<LoadGauge, 'overload'>;
  /** Further rules for every request, for tests. */
  readonly rules?: readonly RequestRule[];
  /** Shorter time-outs, for tests. */
  readonly timeouts?: Partial<Timeouts>;
}

/** Time-outs for callers, and how often they are checked. */
interface Timeouts {
  readonly headersMs: number;
  readonly requestMs: number;
  readonly stallMs: number;
  readonly checkMs: number;
}

const TIMEOUTS: Timeouts = {
  headersMs: HEADERS_TIMEOUT_MS,
  requestMs: REQUEST_TIMEOUT_MS,
  stallMs: STALL_MS_MAX,
  checkMs: SOCKETS_CHECK_MS,
};

/** Builds the HTTP server without its routes, which `addRoutes` adds: limits, parsing, and one form for all refusals. */
export async function buildHttp(
  options: HttpOptions,
  addRoutes: (app: FastifyInstance) => Promise<void> | void,
): Promise<FastifyInstance> {
  const { bodyBytesMax, listenersMax = 0 } = options;
  const logger = options.logger ?? pino({ level: 'error' }, process.stderr);
  const answerError = errorAnswerer(logger);
  const connections = new HttpConnections();
  const listeners = new EndedListeners();
  const gauge = options.gauge ?? NO_LOAD;
  const rules = [...requestRules({ listeners, logger, gauge }), ...(options.rules ?? [])];
  const app = fastify({
    // `EndedListeners` and `logRequests` do that for less.
    logger: false,
    // Loading a plugin takes seconds on a busy machine; a server that starts slowly must still start.
    pluginTimeout: 0,
    genReqId: () => randomUUID(),
    bodyLimit: bodyBytesMax,
    // Trusts one proxy: it appends its own value to the header, and callers can forge everything before that.
    trustProxy: options.trustProxy === true ? (_address: string, hop: number) => hop === 0 : false,
    serverFactory: (handle) => {
      const { headersMs, requestMs, stallMs, checkMs } = { ...TIMEOUTS, ...options.timeouts };
      const bounds = { requestMs, keepAliveMs: KEEP_ALIVE_MS, listenersMax, stallMs, checkMs };
      return openHttpServer(repeatAnswers(handle, rules), {
        ...bounds,
        connections,
        http: httpOptions(headersMs, checkMs),
      });
    },
    // Requests that arrive on open connections while the server stops are answered as usual.
    return503OnClosing: false,
    routerOptions: { maxParamLength: PARAM_UNITS_MAX },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, strict: false } },
    schemaController: { compilersFactory: { buildValidator: lazyValidators() } },
    frameworkErrors: answerError,
    clientErrorHandler: answerSocketError,
  }) as FastifyInstance;
  app.decorate('requestsOpen', () => connections.busy);
  app.decorate('drain', () => connections.drain());
  app.decorate('isDraining', () => connections.isDraining);
  // Ends idle connections gracefully. The server itself would reset connections whose caller is sending.
  app.addHook('preClose', () => connections.endIdle());
  const isPublicHttps = options.isPublicHttps === true;
  app.decorateRequest('isSecure', {
    getter() {
      return isPublicHttps || this.protocol === 'https';
    },
  });
  app.decorateRequest('bearer', null);
  app.decorateRequest('admission', null);
  app.decorateRequest('servedBy', null);
  app.decorateRequest('refusedWith', null);
  app.decorateRequest('refusedPath', null);
  app.decorateRequest('smallBody', null);
  app.setSerializerCompiler(() => JSON.stringify);
  app.setErrorHandler(answerError);
  readJsonOnly(app, options.bodyBounds ?? DEFAULT_BODY_BOUNDS);
  app.decorate('onEnded', (listener: EndedListener) => listeners.add(listener));
  app.addHook('onRequest', (request, reply, done) => {
    request.log = logger;
    beginRequest(rules, { request, response: reply.raw, headers: reply });
    done();
  });
  // Comes before all refusals, so that scripts can read them.
  allowOrigins(app, DEVICE_PREFIX, options.deviceOrigins ?? []);
  guardRequests(app, rules, collectMethods(app));
  admitBodies(app);
  await addRoutes(app);
  return app;
}

function httpOptions(headersTimeout: number, connectionsCheckingInterval: number): ServerOptions {
  // A hook checks the Host header, so that the refusal has our form.
  return { maxHeaderSize: HEADER_BYTES_MAX, headersTimeout, connectionsCheckingInterval, requireHostHeader: false };
}

function readJsonOnly(app: FastifyInstance, bounds: typeof DEFAULT_BODY_BOUNDS): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    if (body.length <= REMEMBERED_BODY_BYTES_MAX) request.smallBody = body;
    // Many clients send a content type with every request, also with a DELETE without a body.
    if (request.method === 'DELETE' && body.length === 0) return undefined;
    const isOfDevice = request.routeOptions.config.operation?.scope === 'device';
    return parseJsonBody(body, isOfDevice ? bounds.device : bounds.other);
  });
}

/** Checks requests before their body is read, so that a request that is refused anyway costs no parsing. */
function guardRequests(app: FastifyInstance, rules: readonly RequestRule[], methods: PathMethods): void {
  // The hook below refuses unknown paths; this handler is for missing files of the viewer.
  app.setNotFoundHandler((request) => {
    throw noRoute(request);
  });
  // Not async, because a promise per request would cost more than the checks.
  app.addHook('onRequest', (request, reply, done) => {
    done(refusalOfRequest(rules, request) ?? errorOf(() => guardRequest(request, reply, methods)));
  });
}

const NO_LOAD = { overload: () => null };

function errorOf(guard: () => void): Error | undefined {
  try {
    guard();
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

function guardRequest(request: FastifyRequest, reply: FastifyReply, methods: PathMethods): void {
  if (!KNOWN_METHODS.has(request.method)) {
    reply.header('allow', ALLOWED_METHODS);
    throw unknownMethod(request.method);
  }
  if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
    throw new Refusal('invalid_request', 'a request needs a Host header');
  }
  requireUnambiguous(request.raw.rawHeaders);
  if (request.url.length > URL_BYTES_MAX) {
    throw new Refusal('uri_too_long', `the address is longer than ${URL_BYTES_MAX} characters`);
  }
  if (request.is404) refuseUnmatched(request, reply, methods);
  const encoding = request.headers['content-encoding'] || 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new Refusal('unsupported_media_type', `a body compressed with ${JSON.stringify(encoding)} is not accepted`);
  }
}

function collectMethods(app: FastifyInstance): PathMethods {
  const methods = new PathMethods();
  app.addHook('onRoute', ({ url, method }) => {
    // The viewer handles its own paths.
    if (!url.startsWith(VIEWER_PATH)) methods.add(url, [method].flat());
  });
  return methods;
}

/** Throws the refusal of a request that no route matches. */
function refuseUnmatched(request: FastifyRequest, reply: FastifyReply, methods: PathMethods): never {
  const known = methods.of(pathOf(request));
  if (known === null || known.methods.includes(request.method)) throw noRoute(request);
  request.refusedPath = known.url;
  const allowed = known.methods;
  reply.header('allow', allowed.join(', '));
  const path = JSON.stringify(shownPath(request.url));
  throw new Refusal('method_not_allowed', `${path} takes ${allowed.join(', ')}, not ${request.method}`);
}

function noRoute(request: FastifyRequest): Refusal {
  return new Refusal('not_found', `there is no route ${JSON.stringify(shownPath(request.url))}`);
}

/** Returns the path without its query, which may hold secrets. */
function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? '';
}

type ErrorAnswerer = (error: Error, request: FastifyRequest, reply: FastifyReply) => void;

function errorAnswerer(logger: FastifyBaseLogger): ErrorAnswerer {
  return (error, request, reply) => {
    const refusal = refusalOf(error);
    request.refusedWith = refusal.code;
    if (refusal.code === 'internal') logger.error({ err: error, request_id: request.id }, 'a request failed');
    // The reason names files and disks, so it goes to the log and not to the caller.
    else if (refusal.cause instanceof Error) {
      logger.error({ code: refusal.code, reason: refusal.cause.message, request_id: request.id }, 'store_failed');
    }
    answerRefusal(refusal, request, reply);
  };
}

function answerRefusal(refusal: Refusal, request: FastifyRequest, reply: FastifyReply): void {
  if (exchangeOf(reply.raw).isOver) return;
  const problem = problemOf(refusal, request.id);
  reply.code(problem.status).header('cache-control', 'no-store').header('x-request-id', request.id);
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer realm="tidemark"');
  if (refusal.retryAfterS !== null) reply.header('retry-after', String(refusal.retryAfterS));
  if (refusal instanceof RefusalWithHeaders) reply.headers(refusal.headers);
  const isLeftUnread = !request.raw.complete && announcedBytes(request.raw) > DISCARDED_BYTES_MAX;
  if (isLeftUnread) {
    reply.header('connection', 'close');
    HttpConnection.of(request.raw.socket)?.lingerWhenClosed();
  } else if (refusal.code === 'body_too_large' || !request.raw.complete) {
    // The rest of the body is short enough to be read, so the connection need not close.
    reply.removeHeader('connection');
    request.raw.resume();
  }
  if (prefersText(request.headers.accept)) {
    reply.type('text/plain; charset=utf-8').header('x-content-type-options', 'nosniff').send(problem.detail);
  } else {
    // Sent as bytes, so that the framework does not serialise it again.
    reply.type('application/problem+json').send(Buffer.from(JSON.stringify(problem)));
  }
}
