import { errorMessage } from '@tidemark/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ActivityFact } from '../activity/activity-filter.ts';
import type { ActivityHub } from '../activity/activity-hub.ts';
import { ACTIVITY_DATA_UNITS_MAX } from '../limits.ts';
import { announcedBytes } from './http-connection.ts';
import type { Call, Route } from './route.ts';
import { templateOf, type WatchedRequest } from './watch-answers.ts';

/** Shows what a request has done. An error in it does not fail the request, which is done. */
export function showActivity(
  activity: ActivityHub,
  route: Route,
  request: FastifyRequest,
  { call, answer }: { readonly call: Call<never, never, never>; readonly answer: unknown },
): void {
  try {
    const shown =
      route.loginAs === undefined ? (route.activity?.(call, answer) ?? []) : [loginFact(route, request, answer)];
    // Serialising a large body would hold up other requests, and the event could not carry it anyway.
    const isLarge = announcedBytes(request.raw) > ACTIVITY_DATA_UNITS_MAX;
    for (const { fact, data } of shown) {
      activity.publish(fact, { requestId: request.id, data: isLarge && data !== undefined ? nothing : data });
    }
  } catch (error) {
    request.log.error({ request_id: request.id, reason: errorMessage(error) }, 'activity_not_shown');
  }
}

function nothing(): null {
  return null;
}

function loginFact({ loginAs: as = 'device' }: Route, { body }: FastifyRequest, answer: unknown) {
  // A login by the token of an identity provider names its user only in the answer.
  const { client_id = null, user_id = loginIn(body) } = answer as Partial<Record<'client_id' | 'user_id', string>>;
  return {
    fact: { kind: 'login', user_id, client_id, source: null, as, code: null } as const,
    data: undefined,
  };
}

/** Shows the requests of the app that are refused. */
export function showRefusals(app: FastifyInstance, activity: ActivityHub): void {
  app.onEnded(({ request, status }) => {
    const { refusedWith: code } = request;
    if (code === null) return;
    activity.publish(refusalFact(request, status, code), { requestId: request.id });
  });
}

function refusalFact(request: WatchedRequest, status: number, code: string): ActivityFact {
  const { bearer, servedBy, method } = request;
  if (servedBy?.loginAs !== undefined) {
    const user_id = loginIn(request.body);
    return { kind: 'login', user_id, client_id: null, source: null, as: servedBy.loginAs, code };
  }
  const { source_name, source_id = null } = (request.params ?? {}) as Partial<Record<string, string>>;
  return {
    kind: 'refusal',
    user_id: bearer?.user ?? null,
    client_id: bearer?.client ?? null,
    source: source_name ?? source_id,
    method,
    route: templateOf(request).url ?? null,
    status,
    code,
  };
}

/** Returns the login that a login request was made with. */
export function loginIn(body: unknown): string | null {
  const login = (body as { readonly login?: unknown } | null | undefined)?.login;
  return typeof login === 'string' ? login.slice(0, 255).toWellFormed() : null;
}
