import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify';
import { exchangeOf } from './exchange.ts';

/** What is told of a request when the last byte of its answer has been handed over. */
export type AnswerListener = (request: FastifyRequest, statusCode: number, elapsedMs: number) => void;

declare module 'fastify' {
  interface FastifyInstance {
    /** Tells of every request that is answered, also of those that are turned away. */
    onAnswered(listener: AnswerListener): void;
  }
}

/**
 * Looks after every request from its first hook on. In place of the framework's own logger and `onResponse` hooks: with
 * either, it makes a logger for each request, and puts listeners on each response and takes them off again, which costs
 * more than all that is measured here.
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
    // Without a listener, a write that comes too late would end the process. That a caller hung up is no fault of ours.
    raw.on('error', (error) => {
      if (!exchange.isSpent) logger.error({ err: error, request_id: request.id }, 'an answer failed');
    });
    done();
  });
}
