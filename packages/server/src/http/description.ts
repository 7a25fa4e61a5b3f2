import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import { Problem } from '@tidemark/protocol/schemas';
import { Type } from '@tidemark/protocol/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify';
import { isNamed } from '../primitives/entity-tag.ts';
import { readVersion } from '../version.ts';
import { exchangeOf } from './exchange.ts';
import { finishDocument } from './finish-document.ts';
import type { Operation } from './route.ts';
import { operationSchema } from './route-schema.ts';
import { VIEWER_ICON, VIEWER_PAGE, VIEWER_SCRIPT, VIEWER_STYLE } from './viewer-page.ts';

/** The sections of the API description, in order. */
const TAGS = [
  { name: 'system', description: 'Login of administrators, licence, backend address, statistics, reset.' },
  { name: 'store', description: 'Documents of the server.' },
  { name: 'users', description: 'Users, their devices and documents, and pings to them.' },
  { name: 'groups', description: 'Groups of users, their members and documents.' },
  { name: 'read_state', description: 'When the data of a source is due to be refreshed. All four routes do the same.' },
  { name: 'sources', description: 'Sources and their attributes.' },
  { name: 'connectors', description: 'Databases that are connected, and what their connectors report.' },
  { name: 'files', description: 'The bytes of files that objects refer to.' },
  { name: 'clients', description: 'Devices and their documents.' },
  { name: 'push', description: 'Pushes of a backend. Devices get the changes at their next pull.' },
  { name: 'tokens', description: 'Tokens of the API.' },
  { name: 'session', description: 'Sessions of the web console, which are kept in a cookie.' },
  { name: 'audit', description: 'The audit trail.' },
  { name: 'activity', description: 'What happens, as it happens.' },
  { name: 'pings', description: 'Sent pings and their results.' },
  { name: 'devices', description: 'The protocol of devices; docs/reference/sync-protocol.md explains it.' },
  { name: 'jobs', description: 'Queues of background jobs.' },
  { name: 'service', description: 'Health, version, metrics and this description.' },
] as const;

/** The path of the viewer. */
export const VIEWER_PATH = '/docs/api';
/**
 * Everything comes from this server. There is no `upgrade-insecure-requests`: the server speaks plain HTTP, so a browser
 * that is told to use HTTPS would show an empty page.
 */
const VIEWER_POLICY =
  "default-src 'self'; base-uri 'none'; frame-ancestors 'self'; img-src 'self' data:; object-src 'none'; script-src 'self'; style-src 'self'";

/** Describes every route that is added afterwards, at `/openapi.json`, with a viewer at `/docs/api/` that needs no network. */
export async function addDescription(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    transform: ({ schema, url, route: { config } }) => ({
      schema: config?.operation === undefined ? schema : operationSchema(config.operation),
      url,
    }),
    transformObject: (made) => ('openapiObject' in made ? finishDocument(made.openapiObject) : made.swaggerObject),
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Tidemark administration and push API',
        version: readVersion(),
        description:
          'Controls a Tidemark server, pushes data into it and synchronises devices with it. A refused call has changed nothing; its answer is `application/problem+json` with a stable `code`, or plain text for callers that prefer it.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'The server that sent this description.' }],
      tags: [...TAGS],
      components: {
        schemas: { Problem },
        securitySchemes: {
          header: {
            type: 'apiKey',
            in: 'header',
            name: 'X-Sync-API-TOKEN',
            description: 'A token from a login or from `POST /rc/v1/tokens`.',
          },
          bearer: { type: 'http', scheme: 'bearer', description: 'The same token, or that of a device.' },
        },
      },
      security: [{ header: [] }, { bearer: [] }],
    },
  });
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith(`${VIEWER_PATH}/static`)) route.onSend = sendViewerFile;
  });
  const send = descriptionSender(app);
  const described = operationSchema(DESCRIPTION);
  await app.register(swaggerUi, {
    routePrefix: VIEWER_PATH,
    staticCSP: VIEWER_POLICY,
    // The viewer loads the description from its own path, where the framework would generate it for every request.
    theme: {
      css: [{ filename: 'viewer.css', content: VIEWER_STYLE }],
      js: [{ filename: 'viewer.js', content: VIEWER_SCRIPT }],
      favicon: [{ filename: 'icon.svg', rel: 'icon', sizes: 'any', type: 'image/svg+xml', content: VIEWER_ICON }],
    },
    uiHooks: {
      onRequest: (request, reply, done) => {
        secureViewer(reply);
        const { url } = request.routeOptions;
        if (url === VIEWER_PATH || url === `${VIEWER_PATH}/`) sendViewer(request, reply);
        else if (url === `${VIEWER_PATH}/json`) send(request, reply);
        else done();
      },
    },
  });
  app.get(
    '/openapi.json',
    { schema: { ...described, response: { ...(described.response as object), 304: UNCHANGED } } },
    send,
  );
}

/** Sends our own page instead of the one of the framework, which has a bar of its own. Its addresses need the `/`. */
function sendViewer({ url }: FastifyRequest, reply: FastifyReply): void {
  if (!url.split('?', 1)[0]?.endsWith('/')) reply.redirect(`${VIEWER_PATH}/`, 302);
  else reply.header('cache-control', 'no-cache').type('text/html; charset=utf-8').send(VIEWER_PAGE);
}

/** The framework adds the content security policy. */
function secureViewer(reply: FastifyReply): void {
  reply.header('x-content-type-options', 'nosniff').header('referrer-policy', 'same-origin');
}

/** Closes the file of an answer when the exchange ends. The framework leaves it open if the caller has hung up. */
const sendViewerFile: onSendHookHandler = (_request, reply, payload, done) => {
  secureViewer(reply);
  const exchange = exchangeOf(reply.raw);
  if (payload instanceof Readable) {
    exchange.onOver(() => payload.destroy());
    if (exchange.isOver) return;
  }
  done(null, payload);
};

/** Sends the description. It is generated at the first request, when all routes are known. */
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

const DESCRIPTION: Operation = {
  method: 'GET',
  path: '/openapi.json',
  operationId: 'serviceDescription',
  scope: 'public',
  summary: 'This description',
  answer: Type.Object({}, { additionalProperties: true, description: 'An OpenAPI 3.1 document.' }),
};

const UNCHANGED = { description: 'The caller has this version already.', type: 'null' } as const;
