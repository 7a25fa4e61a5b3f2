import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const METHODS = 'DELETE, GET, HEAD, PATCH, POST, PUT';
const HEADERS =
  'authorization, content-type, accept, range, if-range, tus-resumable, upload-length, upload-metadata, upload-offset, upload-checksum';
/** Headers that scripts may read. */
const EXPOSED =
  'ratelimit, ratelimit-policy, retry-after, x-request-id, location, etag, content-range, tus-resumable, upload-length, upload-offset, upload-expires';
/** How long a browser may cache the permission. */
const MAX_AGE_S = 600;

/**
 * Lets scripts of the given origins call the paths under the prefix, and no others. The server uses no cookies, so
 * there are no credentials to allow.
 */
export function allowOrigins(app: FastifyInstance, prefix: string, origins: readonly string[]): void {
  if (origins.length === 0) return;
  const allowed = new Set(origins);
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.url.startsWith(prefix)) return done();
    reply.header('vary', 'origin');
    const { origin } = request.headers;
    if (origin === undefined || !allowed.has(origin)) return done();
    reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', EXPOSED);
    if (isPreflight(request)) permit(reply);
    else done();
  });
}

/** True for the request by which a browser asks for permission. */
function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

function permit(reply: FastifyReply): void {
  reply
    .code(204)
    .header('access-control-allow-methods', METHODS)
    .header('access-control-allow-headers', HEADERS)
    .header('access-control-max-age', String(MAX_AGE_S))
    .send();
}
