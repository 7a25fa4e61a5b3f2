import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify';
import { exchangeOf } from './exchange.ts';

/** Called when the last byte of an answer has been handed over. */
export type AnswerListener = (request: FastifyRequest, statusCode: number, elapsedMs: number) => void;

declare module 'fastify' {
  interface FastifyInstance {
    /** Registers a listener for all answered requests, including refused ones. */
    onAnswered(listener: AnswerListener): void;
  }
}

/**
 * Measures every request from its first hook on. It replaces the logger and the `onResponse` hooks of the framework,
 * which create a logger per request and add listeners to every response: that costs more than everything measured
 * here.
 */
export function watchAnswers(app: FastifyInstance, logger: FastifyBaseLogger): void {
  const listeners: AnswerListener[] = [];
  app.decorate('onAnswered', (listener: AnswerListener) => void listeners.push(listener));
  app.addHook('onRequest', (request, { raw }, done) => {
    const startedMs = performance.now();
    request.log = logger;
    const exchange = exchangeOf(raw);
    exchange.onOver((isAnswered) => {
      if (!isAnswered) return;
      const elapsedMs = performance.now() - startedMs;
      for (const listener of listeners) listener(request, raw.statusCode, elapsedMs);
    });
    // Without a listener a late write would end the process. A caller that hangs up is not an error.
    raw.on('error', (error) => {
      if (!exchange.isOver) logger.error({ err: error, request_id: request.id }, 'an answer failed');
    });
    done();
  });
}
