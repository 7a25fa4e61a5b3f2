import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
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
  await app.register(swaggerUi, { routePrefix: VIEWER_PATH, staticCSP: true });
  app.get('/openapi.json', { schema: DESCRIPTION }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(Buffer.from(JSON.stringify(app.swagger()))),
  );
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
