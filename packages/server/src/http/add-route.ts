import type { AuditFact, Bearer } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { findBearer, type RouteScope, refusalOfBearer } from '../auth/authenticate.ts';
import { sendAnswer } from './answer.ts';
import { exchangeOf } from './exchange.ts';
import type { Call, Operation, Route, RouteContext } from './route.ts';
import { validationSchema } from './route-schema.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its answers last as long as the caller listens, so their time says nothing. */
    readonly isStream?: boolean;
    /** What the API description says of the route. */
    readonly operation?: Operation;
  }
  interface FastifyRequest {
    /** Null on public routes, and before the caller is known. */
    bearer: Bearer | null;
    /** The route whose handler took it; null: it came to none, or to one that the framework holds alone. */
    servedBy: Route | null;
  }
}

/** Hangs a route into the server: who may call it, what it takes, what is told of it afterwards. */
export function addRoute(app: FastifyInstance, context: RouteContext, route: Route): void {
  const { method, path, scope } = route;
  app.route({
    method,
    url: path,
    schema: validationSchema(route),
    config: { isStream: route.streams !== undefined, operation: route },
    ...(route.bodyBytesMax === undefined ? {} : { bodyLimit: route.bodyBytesMax }),
    // Before the body is read: whoever may not call the route shall not make us parse anything.
    ...(scope === 'public' ? {} : { onRequest: admitBearer(context, scope) }),
    handler: handlerOf(context, route),
  });
}

function admitBearer(context: RouteContext, scope: Exclude<RouteScope, 'public'>): onRequestHookHandler {
  const { tidemark } = context;
  return (request, reply, done) => {
    findBearer(tidemark, request, context.nowMs()).then((found) => {
      // Whoever hung up meanwhile is forgotten here: without `done` nothing follows.
      if (exchangeOf(reply.raw).isSpent) return;
      const refusal = refusalOfBearer(found, scope);
      if (refusal !== null) return done(refusal);
      request.bearer = found;
      done();
    }, done);
  };
}

/** Not async, and nothing is given back to the framework: every promise on the way of every request costs. */
function handlerOf(context: RouteContext, route: Route): (request: FastifyRequest, reply: FastifyReply) => void {
  const isFollowed = route.audit !== undefined || route.announces !== undefined || route.operation !== undefined;
  const perform = isFollowed
    ? (request: FastifyRequest) => performAndFollow(context, route, request)
    : (request: FastifyRequest) => route.handle(callOf(context, request));
  return (request, reply) => {
    request.servedBy = route;
    // Reading and parsing the body took its time, too.
    if (exchangeOf(reply.raw).isSpent) return;
    const fail = (error: Error) => void reply.send(error);
    perform(request).then((answer) => {
      try {
        sendAnswer(reply, answer)?.catch(fail);
      } catch (error) {
        fail(error as Error);
      }
    }, fail);
  };
}

function callOf(context: RouteContext, request: FastifyRequest): Call<never, never, never> {
  return {
    context,
    params: request.params as never,
    query: request.query as never,
    body: request.body as never,
    bearer: request.bearer,
    accept: request.headers.accept,
    address: request.ip,
  };
}

/** The work of a route with what follows from it: what others are told, what is counted, what the trail keeps. */
async function performAndFollow(context: RouteContext, route: Route, request: FastifyRequest): Promise<unknown> {
  const call = callOf(context, request);
  const startedMs = performance.now();
  let answer: unknown;
  try {
    answer = await route.handle(call);
  } catch (error) {
    await noteAudit(context, route, request, { result: error instanceof Refusal ? error.code : 'internal' });
    throw error;
  }
  if (route.announces !== undefined) context.cluster.announce(route.announces, concernedUser(request));
  countOperation(context, route, request, performance.now() - startedMs);
  if (route.audit !== undefined) {
    await noteAudit(context, route, request, { result: 'ok', target: route.auditTarget?.(answer) });
  }
  return answer;
}

/** Only of sources that exist, which a successful operation proves: strangers cannot grow the set of metrics. */
function countOperation(context: RouteContext, { operation }: Route, request: FastifyRequest, elapsedMs: number): void {
  if (operation === undefined) return;
  const { source_name } = request.params as { readonly source_name: string };
  context.tidemark.stats.record(`sources:${operation}:${source_name}`, elapsedMs, context.nowMs());
}

interface AuditedOutcome {
  /** `ok`, or the code of the refusal. */
  readonly result: string;
  /** Undefined: what the path names. */
  readonly target?: string | undefined;
}

async function noteAudit(
  context: RouteContext,
  route: Route,
  request: FastifyRequest,
  { result, target = targetOf(request) }: AuditedOutcome,
): Promise<void> {
  const { bearer, ip: address } = request;
  // Whoever is turned away at the door is not written down: strangers must not fill the disk.
  if (route.audit === undefined || result === 'rate_limited' || result === 'overloaded') return;
  const fact: AuditFact = {
    actor: bearer?.user ?? loginIn(request.body),
    token_id: bearer?.tokenId ?? null,
    action: route.audit,
    target,
    result,
    address,
    request_id: request.id,
  };
  try {
    // Strangers can fail to log in as often as they like.
    const isByStranger = bearer === null && result !== 'ok';
    await (isByStranger ? context.tidemark.audit.recordSummed(fact) : context.tidemark.audit.record(fact));
  } catch (error) {
    // What was done is done, and what was refused is refused: the caller is told that, and the operator what is missing.
    context.metrics.auditMissing();
    request.log.error({ err: error, ...fact }, 'audit_not_written');
  }
}

/** Whom a change is about: the user in the path, or the one whose device it is. Null: whoever. */
function concernedUser({ params, bearer }: FastifyRequest): string | null {
  const { user_id: named } = params as { readonly user_id?: string };
  return named ?? (bearer === null || bearer.client === null ? null : bearer.user);
}

/** Of a login, who it was that tried. */
function loginIn(body: unknown): string | null {
  const login = (body as { readonly login?: unknown } | null | undefined)?.login;
  return typeof login === 'string' ? login.slice(0, 255).toWellFormed() : null;
}

/** The path without its query, which is all the trail may hold of a request. */
function targetOf(request: FastifyRequest): string {
  return (request.url.split('?', 1)[0] ?? '').slice(0, 1_000);
}
