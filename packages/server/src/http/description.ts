import { createHash } from 'node:crypto';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { readVersion } from '../version.ts';
import { addSharedSchemas, REFUSED } from './route-schema.ts';

/** Where people read the description. */
export const VIEWER_PATH = '/docs';

/** Describes every route that is added afterwards, at `/openapi.json`, with a viewer at `/docs/` that needs no network. */
export async function addDescription(app: FastifyInstance): Promise<void> {
  addSharedSchemas(app);
  await app.register(swagger, {
    refResolver: { buildLocalReference: ({ $id }, _base, _fragment, index) => ($id ? String($id) : `Schema${index}`) },
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Tidemark administration and push API',
        version: readVersion(),
        description:
          'Controls a Tidemark server and pushes data into it. Everything refused is `application/problem+json`.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: {
          header: { type: 'apiKey', in: 'header', name: 'X-Sync-API-TOKEN' },
          bearer: { type: 'http', scheme: 'bearer' },
        },
      },
      security: [{ header: [] }, { bearer: [] }],
    },
  });
  const send = descriptionSender(app);
  await app.register(swaggerUi, {
    routePrefix: VIEWER_PATH,
    staticCSP: true,
    // The server itself speaks plain HTTP: a browser told to use HTTPS instead would show an empty page.
    transformStaticCSP: (policy) => policy.replace(/\s*upgrade-insecure-requests;?/, ''),
    // The viewer reads the description by a path of its own, where the framework would write it anew every time.
    uiHooks: {
      onRequest: (request, reply, done) =>
        request.routeOptions.url === `${VIEWER_PATH}/json` ? send(request, reply) : done(),
    },
  });
  app.get('/openapi.json', { schema: DESCRIPTION }, send);
}

/** Sends the description, which is written once when it is first asked for: by then every route is known. */
function descriptionSender(app: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => void {
  let written: { readonly bytes: Buffer; readonly etag: string } | null = null;
  const write = () => {
    const bytes = Buffer.from(JSON.stringify(app.swagger()));
    return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
  };
  return (request, reply) => {
    written ??= write();
    const { bytes, etag } = written;
    reply.header('etag', etag).header('cache-control', 'no-cache');
    if (isNamed(etag, request.headers['if-none-match'])) reply.code(304).send();
    else reply.type('application/json; charset=utf-8').send(bytes);
  };
}

/** Whether the caller says that it has this version already. */
function isNamed(etag: string, ifNoneMatch = ''): boolean {
  const named = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return named.includes(etag) || named.includes('*');
}

const DESCRIPTION = {
  summary: 'This description',
  tags: ['service'],
  security: [],
  response: {
    200: { description: 'OpenAPI 3.1', content: { 'application/json': { schema: { type: 'object' } } } },
    '4xx': REFUSED,
  },
} as const;
