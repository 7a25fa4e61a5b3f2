import { Problem } from '@tidemark/protocol/schemas';
import type { FastifyInstance, FastifySchema } from 'fastify';
import type { Route } from './route.ts';

/** What routes share by reference, so that the description says it once. */
export function addSharedSchemas(app: FastifyInstance): void {
  app.addSchema({ ...Problem, $id: 'Problem' });
}

/** What fastify validates by, and what the description of the API is made from. */
export function routeSchema({
  summary,
  scope,
  params,
  query,
  body,
  answer,
  isText,
  path,
  streams,
}: Route): FastifySchema {
  return {
    summary,
    description: scope === 'public' ? 'Needs no token.' : `Needs a token with the scope \`${scope}\`.`,
    tags: [sectionOf(path)],
    ...(scope === 'public' ? { security: [] } : {}),
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { querystring: query }),
    ...(body === undefined ? {} : { body }),
    response: {
      200: {
        description: summary,
        content: { [streams ?? 'application/json']: { schema: answer }, ...(isText === true ? PLAIN_TEXT : {}) },
      },
      '4xx': REFUSED,
      '5xx': FAILED,
    },
  };
}

const PLAIN_TEXT = { 'text/plain': { schema: { type: 'string' } } } as const;
const PROBLEM = { 'application/problem+json': { schema: { $ref: 'Problem#' } }, ...PLAIN_TEXT } as const;
/** How everything refused is described. */
export const REFUSED = { description: 'Refused; `code` says why. Nothing has changed.', content: PROBLEM } as const;
const FAILED = { description: 'Not done, and not because of the request.', content: PROBLEM } as const;

function sectionOf(path: string): string {
  const [, prefix = '', , section = ''] = path.split('/');
  if (prefix === 'sync') return 'devices';
  return prefix === 'app' ? 'push' : section === 'readstate' ? 'read_state' : section;
}
