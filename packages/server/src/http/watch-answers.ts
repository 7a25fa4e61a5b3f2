import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { exchangeOf } from './exchange.ts';

/** What listeners may know of a request. `routeOptions` is absent if a remembered answer was sent. */
export type WatchedRequest = Pick<FastifyRequest, 'id' | 'method' | 'bearer' | 'servedBy' | 'refusedWith' | 'raw'> &
  Partial<Pick<FastifyRequest, 'refusedPath' | 'routeOptions' | 'params' | 'body'>>;

/** A request that is over. */
export interface EndedRequest {
  readonly request: WatchedRequest;
  readonly response: ServerResponse;
  /** The status that was sent, or would have been. */
  readonly status: number;
  /** False: the caller hung up before the last byte of the answer had been handed over. */
  readonly isAnswered: boolean;
  readonly elapsedMs: number;
  /** Bytes the socket had sent before the answer. */
  readonly bytesBefore: number;
}

export type EndedListener = (ended: EndedRequest) => void;

declare module 'fastify' {
  interface FastifyRequest {
    /** The pattern of a path that has routes, but none that takes the method of this request; null for all others. */
    refusedPath: string | null;
  }
  interface FastifyInstance {
    /** Registers a listener for all requests, including refused ones, that is called when they are over. */
    onEnded(listener: EndedListener): void;
  }
}

/**
 * Tells all listeners that have been added of every request that is over. It replaces the logger and the `onResponse` hooks
 * of the framework, which create a logger per request and add listeners to every response: that costs more than everything
 * measured here.
 */
export class EndedListeners {
  readonly #listeners: EndedListener[] = [];

  add(listener: EndedListener): void {
    this.#listeners.push(listener);
  }

  /** Measures a request, which began now unless `startedMs` says otherwise. */
  watch(request: WatchedRequest, response: ServerResponse, startedMs = performance.now()): void {
    const bytesBefore = bytesWrittenOf(response);
    exchangeOf(response).onOver((isAnswered) => {
      const elapsedMs = performance.now() - startedMs;
      const { statusCode: status } = response;
      const ended: EndedRequest = { request, response, status, isAnswered, elapsedMs, bytesBefore };
      for (const listener of this.#listeners) listener(ended);
    });
  }
}

/** A connection answers one request at a time, so the difference between two readings is one answer. */
export function bytesWrittenOf({ req: { socket } }: ServerResponse): number {
  // Injected requests have no socket that counts, and a request that was destroyed has none.
  return (socket as typeof socket | null)?.bytesWritten ?? 0;
}

interface Template {
  /** Undefined for unknown paths. */
  readonly url: string | undefined;
  readonly isStream: boolean;
}

/** Avoids `routeOptions` where possible, because the framework builds a new object for it. */
export function templateOf(request: WatchedRequest): Template {
  const { servedBy } = request;
  if (servedBy !== null) {
    return { url: servedBy.path, isStream: servedBy.streams !== undefined || servedBy.takesBytes === true };
  }
  const { url, config } = request.routeOptions ?? {};
  return { url: url ?? request.refusedPath ?? undefined, isStream: config?.isStream === true };
}
