import type { Bearer } from '@tidemark/core';
import { Refusal, type RefusalCode, type WriteReport } from '@tidemark/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { findBearer, type RouteScope, refusalOfToken } from '../auth/authenticate.ts';
import { sendAnswer } from './answer.ts';
import { callerAddress } from './caller-address.ts';
import { Admission } from './every-request.ts';
import { type Exchange, exchangeOf } from './exchange.ts';
import type { Call, Operation, Route, RouteContext } from './route.ts';
import { validationSchema } from './route-schema.ts';
import { showActivity } from './show-activity.ts';
import { AuditDraft } from './write-audit.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for routes that stream: their duration depends on the caller and is not measured. */
    readonly isStream?: boolean;
    /** The operation as the API description shows it. */
    readonly operation?: Operation;
  }
  interface FastifyRequest {
    /** Null on public routes, and before the caller is known. */
    bearer: Bearer | null;
    /** Admitted the bearer; null as long as there is none. */
    admission: Admission | null;
    /** The route whose handler runs. Null if none runs, or one that only the framework knows. */
    servedBy: Route | null;
    /** The code of the refusal that answers the request, if one does. */
    refusedWith: RefusalCode | null;
    /** The bytes of the body, if they are few enough to be remembered for a repeated request. */
    smallBody: Buffer | null;
  }
}

/** Adds routes, each to where its body is read as it wants it. */
export async function addRouteList(
  app: FastifyInstance,
  context: RouteContext,
  routes: readonly Route[],
): Promise<void> {
  for (const route of routes) if (route.takesBytes !== true) addRoute(app, context, route);
  await app.register(async (ofBytes) => {
    readBytes(ofBytes);
    for (const route of routes) if (route.takesBytes === true) addRoute(ofBytes, context, route);
  });
}

/** Leaves the bodies of the routes of an app to their handlers, as streams. */
function readBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
}

/** Adds a route with its authentication, validation, audit entry and announcements. */
export function addRoute(app: FastifyInstance, context: RouteContext, route: Route): void {
  const { method, path, scope } = route;
  app.route({
    method,
    url: path,
    schema: validationSchema(route),
    config: { isStream: route.streams !== undefined || route.takesBytes === true, operation: route },
    ...(route.bodyBytesMax === undefined ? {} : { bodyLimit: route.bodyBytesMax }),
    // Authentication runs before the body is read, so that unauthorised callers cause no parsing.
    ...(scope === 'public' ? {} : { onRequest: admitBearer(context, scope) }),
    handler: handlerOf(context, route),
  });
}

function admitBearer(context: RouteContext, scope: Exclude<RouteScope, 'public'>): onRequestHookHandler {
  const { tidemark } = context;
  const admission = new Admission(context, scope);
  return (request, reply, done) => {
    findBearer(tidemark, request, context.nowMs()).then((found): unknown => {
      // The caller has hung up. Without a call of `done` the framework does nothing more.
      if (exchangeOf(reply.raw).isOver) return;
      if (found === null) return refusalOfToken(tidemark, request, scope).then(done, done);
      request.bearer = found;
      request.admission = admission;
      return done(admission.refusalOf(found, reply) ?? undefined);
    }, done);
  };
}

/** Not async, and returns nothing to the framework, because every promise in the path of a request costs time. */
function handlerOf(context: RouteContext, route: Route): (request: FastifyRequest, reply: FastifyReply) => void {
  const hasFollowUp = route.audit !== undefined || route.announces !== undefined || route.operation !== undefined;
  const perform = hasFollowUp
    ? (request: FastifyRequest, exchange: Exchange) => handleWithFollowUp(context, route, request, exchange)
    : (request: FastifyRequest, exchange: Exchange) => route.handle(callOf(context, request, exchange));
  const isShown = route.activity !== undefined || route.loginAs !== undefined;
  return (request, reply) => {
    request.servedBy = route;
    // The caller may have hung up while the body was read and parsed.
    const exchange = exchangeOf(reply.raw);
    if (exchange.isOver) return;
    const fail = (error: Error) => void reply.send(error);
    perform(request, exchange).then((answer) => {
      if (isShown && (context.activity.wantsSuccesses || route.hasFailures?.(answer) === true)) {
        showActivity(context.activity, route, request, { call: callOf(context, request, exchange), answer });
      }
      try {
        sendAnswer(reply, answer)?.catch(fail);
      } catch (error) {
        fail(error as Error);
      }
    }, fail);
  };
}

function callOf(context: RouteContext, request: FastifyRequest, exchange: Exchange): Call<never, never, never> {
  return {
    context,
    params: request.params as never,
    query: request.query as never,
    body: request.body as never,
    bearer: request.bearer,
    accept: request.headers.accept,
    address: callerAddress(request),
    request,
    hasHungUp: () => exchange.isOver,
  };
}

/** Runs the handler, then announces the change, counts the operation and writes the audit entry. */
async function handleWithFollowUp(
  context: RouteContext,
  route: Route,
  request: FastifyRequest,
  exchange: Exchange,
): Promise<unknown> {
  const draft = AuditDraft.of(route, request);
  const call = { ...callOf(context, request, exchange), observer: draft?.observer };
  const startedMs = performance.now();
  let answer: unknown;
  try {
    answer = await route.handle(call as Call<never, never, never>);
  } catch (error) {
    await draft?.write(context, { result: error instanceof Refusal ? error.code : 'internal' });
    throw error;
  }
  if (route.announces !== undefined) context.cluster.announce(route.announces, affectedUser(request));
  countOperation(context, route, request, { answer, elapsedMs: performance.now() - startedMs });
  await draft?.write(context, { result: 'ok', answer });
  return answer;
}

/** Counts only successful operations, whose source therefore exists: strangers cannot grow the set of metrics. */
function countOperation(
  context: RouteContext,
  { operation }: Route,
  request: FastifyRequest,
  { answer, elapsedMs }: { readonly answer: unknown; readonly elapsedMs: number },
): void {
  if (operation === undefined) return;
  const { source_name } = request.params as { readonly source_name: string };
  context.tidemark.stats.record(`sources:${operation}:${source_name}`, elapsedMs, context.nowMs());
  context.metrics.backend.pushed(source_name, operation, (answer as WriteReport).changed);
}

/** Returns the user a change is about: the user in the path, or the user of the calling device. Null means any user. */
function affectedUser({ params, bearer }: FastifyRequest): string | null {
  const { user_id: named } = params as { readonly user_id?: string };
  return named ?? (bearer === null || bearer.client === null ? null : bearer.user);
}
