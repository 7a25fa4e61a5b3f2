import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Handler } from '../handler/create-handler.ts';
import { nodeListener } from './node.ts';

/** As much of Fastify as is needed. */
interface FastifyLike {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(
    type: string,
    parser: (request: unknown, payload: unknown, done: (error: null, body?: unknown) => void) => void,
  ): unknown;
  post(
    path: string,
    handler: (
      request: { readonly raw: IncomingMessage },
      reply: { hijack(): unknown; readonly raw: ServerResponse },
    ) => void,
  ): unknown;
}

/**
 * The handler for Fastify: `app.register(fastifyMount(handler), { prefix: '/tidemark' })`. Inside, and only there, bodies
 * are left as they are: the signature covers the bytes as they were sent.
 */
export function fastifyMount(
  handler: Handler,
): (app: FastifyLike, options: unknown, done: (error?: Error) => void) => void {
  const listen = nodeListener(handler);
  return (app, _options, done) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
    app.post('/:call', (request, reply) => {
      reply.hijack();
      listen(request.raw, reply.raw);
    });
    done();
  };
}
