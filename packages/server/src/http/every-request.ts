import type { ServerResponse } from 'node:http';
import type { Bearer } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import type { FastifyBaseLogger } from 'fastify';
import { type RouteScope, refusalOfBearer } from '../auth/authenticate.ts';
import { RATE_HEADER, RATE_POLICY_HEADER } from '../auth/rate-limiter.ts';
import { OVERLOAD_RETRY_AFTER_S } from '../limits.ts';
import { exchangeOf } from './exchange.ts';
import type { LoadGauge } from './load-gauge.ts';
import type { RouteContext } from './route.ts';
import { ALWAYS_ANSWERED } from './route-refusals.ts';
import { type EndedListeners, templateOf, type WatchedRequest } from './watch-answers.ts';

// The rules that hold for every request, whether the framework handles it or a remembered answer is sent again
// (repeated-answers.ts). Both ways go over these lists, so a rule that is added here holds in both. Checks of the head of
// a request alone need not be here: a request is answered from memory only if its head equals one that has passed them.

/** A request that is about to be answered, either way. */
export interface Arrival {
  readonly request: WatchedRequest;
  readonly response: ServerResponse;
  /** Absent: now. */
  readonly startedMs?: number;
  readonly headers: AnswerHeaders;
}

/** The headers of an answer that has not been sent. */
export interface AnswerHeaders {
  /** Sets a header, in place of the one that is there. */
  header(name: string, value: string): unknown;
}

/** Holds from the moment when a request arrives. */
export interface RequestRule {
  readonly name: string;
  /** Called once for every request. */
  readonly begin?: (arrival: Arrival) => void;
  /** Returns why the request is refused at this moment. May be called twice for a request, so it changes nothing. */
  readonly refusal?: (request: WatchedRequest) => Refusal | null;
}

export interface RequestRulesParts {
  readonly listeners: EndedListeners;
  readonly logger: FastifyBaseLogger;
  readonly gauge: Pick<LoadGauge, 'overload'>;
}

/** The rules of all requests, in the order in which they are applied. */
export function requestRules({ listeners, logger, gauge }: RequestRulesParts): readonly RequestRule[] {
  return [
    // Comes first, so that refused requests are measured, too. Metrics, log and activity listen.
    {
      name: 'measure',
      begin: ({ request, response, startedMs }) => listeners.watch(request, response, startedMs),
    },
    {
      name: 'survive late errors',
      begin: ({ request: { id }, response }) => {
        const exchange = exchangeOf(response);
        // Without a listener a late write would end the process. A caller that hangs up is not an error.
        response.on('error', (error) => {
          if (!exchange.isOver) logger.error({ err: error, request_id: id }, 'an answer failed');
        });
      },
    },
    { name: 'request id', begin: ({ request, headers }) => headers.header('x-request-id', request.id) },
    {
      name: 'shed load',
      refusal: (request) => {
        const overload = ALWAYS_ANSWERED.has(templateOf(request).url) ? null : gauge.overload();
        return overload === null
          ? null
          : new Refusal('overloaded', `${overload}; the request was not processed`, [], OVERLOAD_RETRY_AFTER_S);
      },
    },
  ];
}

export function beginRequest(rules: readonly RequestRule[], arrival: Arrival): void {
  for (const { begin } of rules) begin?.(arrival);
}

/** Returns the first refusal of the rules, or null. */
export function refusalOfRequest(rules: readonly RequestRule[], request: WatchedRequest): Refusal | null {
  for (const { refusal } of rules) {
    const refused = refusal?.(request) ?? null;
    if (refused !== null) return refused;
  }
  return null;
}

/** Holds when the caller is known. */
interface CallerRule {
  readonly name: string;
  /** Returns why the caller is refused. */
  readonly refusal: (bearer: Bearer, headers: AnswerHeaders) => Refusal | null;
}

/** Admits the callers of a route. */
export class Admission {
  readonly #context: Pick<RouteContext, 'tidemark' | 'rates' | 'nowMs'>;
  readonly #rules: readonly CallerRule[];

  constructor(context: Pick<RouteContext, 'tidemark' | 'rates' | 'nowMs'>, scope: Exclude<RouteScope, 'public'>) {
    this.#context = context;
    this.#rules = callerRules(context, scope);
  }

  /** Returns why the caller is refused, or null. Counts the request. */
  refusalOf(bearer: Bearer, headers: AnswerHeaders): Refusal | null {
    for (const { refusal } of this.#rules) {
      const refused = refusal(bearer, headers);
      if (refused !== null) return refused;
    }
    return null;
  }

  /** Finds the caller of an earlier request with the same token again; null: the token is no longer valid. */
  findAgain({ tokenHash }: Bearer): Promise<Bearer | null> {
    const { tidemark, nowMs } = this.#context;
    return tidemark.tokens.bearers.bearerOf(tokenHash, nowMs());
  }
}

/** The rules of all calls with a token, in the order in which they are applied. */
function callerRules(
  { rates }: Pick<RouteContext, 'rates'>,
  scope: Exclude<RouteScope, 'public'>,
): readonly CallerRule[] {
  return [
    { name: 'scope', refusal: (bearer) => refusalOfBearer(bearer, scope) },
    // Comes last, because it counts the request.
    {
      name: 'rate limit',
      refusal: (bearer, headers) => {
        const taken = rates.take(bearer);
        if (taken === null || taken instanceof Refusal) return taken;
        headers.header(RATE_POLICY_HEADER, taken.policy);
        headers.header(RATE_HEADER, taken.state);
        return null;
      },
    },
  ];
}
