import { randomUUID } from 'node:crypto';
import { Refusal } from '@tidemark/protocol';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { prefersText, problemOf } from './problem.ts';
import { readVersion } from './version.ts';

const METHODS = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'] as const;
const TOLD_PATH_UNITS_MAX = 200;

/**
 * The HTTP edge: every route there is, and one shape for everything that is refused. Routes are added to the app
 * itself, not by `register`, which would add them later than the answers to the other methods.
 */
export function buildHttp(addRoutes: (app: FastifyInstance) => void = addServiceRoutes): FastifyInstance {
  const app = fastify({
    logger: { level: 'error', stream: process.stderr },
    genReqId: () => randomUUID(),
    frameworkErrors: answerError,
  });
  app.setErrorHandler(answerError);
  refuseUnknownPaths(app);
  const methodsByUrl = collectRoutes(app);
  addRoutes(app);
  refuseOtherMethods(app, methodsByUrl);
  return app;
}

/** What says that the server is there, and which one. */
export function addServiceRoutes(app: FastifyInstance): void {
  const version = { name: 'tidemark', version: readVersion() };
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/version', () => version);
}

/** In a hook before the body is read, so that a path nobody serves costs no parsing and is never called malformed. */
function refuseUnknownPaths(app: FastifyInstance): void {
  app.setNotFoundHandler(() => {
    throw new Error('the hook before this handler refuses every unknown path');
  });
  app.addHook('onRequest', async (request) => {
    if (request.is404) throw new Refusal('not_found', `there is nothing at ${toldPath(request)}`);
  });
}

function collectRoutes(app: FastifyInstance): ReadonlyMap<string, Set<string>> {
  const methodsByUrl = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
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
    const method = METHODS.filter((name) => !taken.has(name));
    if (method.length === 0) continue;
    app.route({
      method,
      url,
      onRequest: async (request, reply) => {
        reply.header('allow', allowed);
        throw new Refusal('method_not_allowed', `${toldPath(request)} takes ${allowed}, not ${request.method}`);
      },
      handler: () => undefined,
    });
  }
}

/** Without the query, which may hold what nobody should read again. */
function toldPath(request: FastifyRequest): string {
  const [path = ''] = request.url.split('?', 1);
  return JSON.stringify(path.length > TOLD_PATH_UNITS_MAX ? `${path.slice(0, TOLD_PATH_UNITS_MAX)}…` : path);
}

function answerError(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  const refusal = refusalOf(error);
  if (refusal.code === 'internal') request.log.error({ err: error, request_id: request.id }, 'a request failed');
  const problem = problemOf(refusal, request.id);
  reply.code(problem.status);
  if (prefersText(request.headers.accept)) {
    reply.type('text/plain; charset=utf-8').send(problem.detail);
  } else {
    // As bytes, because what is already JSON text must not meet a serializer again.
    reply.type('application/problem+json').send(Buffer.from(JSON.stringify(problem)));
  }
}

/** What fastify itself refuses is the caller's fault, and its message says why; anything else is a bug of ours. */
function refusalOf(error: Error & { readonly statusCode?: number }): Refusal {
  if (error instanceof Refusal) return error;
  const status = error.statusCode ?? 500;
  if (status === 413) return new Refusal('body_too_large', error.message);
  if (status >= 400 && status < 500) return new Refusal('invalid_request', error.message);
  return new Refusal('internal', 'something is wrong on our side');
}
