import type { FastifySchema } from 'fastify';
import { documentedSchema } from './documented-schema.ts';
import type { Operation } from './route.ts';
import { refusalsOf } from './route-refusals.ts';

/** Returns the schemas by which fastify validates requests. */
export function validationSchema({ params, query, body }: Operation): FastifySchema {
  return {
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { querystring: query }),
    ...(body === undefined ? {} : { body }),
  };
}

/** Returns the schemas for the API description. Called when the description is requested, not at the start. */
export function operationSchema(operation: Operation): FastifySchema {
  const { operationId, summary, description, scope, params, query, body, answer, isText, path, streams } = operation;
  const { status = 200 } = operation;
  const needs = scope === 'public' ? 'Needs no token.' : `Needs a token with the scope \`${scope}\`.`;
  return {
    operationId,
    summary,
    description: description === undefined ? needs : `${description} ${needs}`,
    tags: [sectionOf(path)],
    ...(scope === 'public' ? { security: [] } : {}),
    ...(params === undefined ? {} : { params: documentedSchema(params) }),
    ...(query === undefined ? {} : { querystring: documentedSchema(query) }),
    ...(body === undefined ? {} : { body: documentedSchema(body) }),
    response: {
      [status]: {
        description: descriptionOf(answer) ?? summary,
        ...(status === 200
          ? {
              content: {
                [streams ?? 'application/json']: { schema: documentedSchema(answer) },
                ...(isText === true ? PLAIN_TEXT : {}),
              },
            }
          : // The generator of the document describes no content for this type alone.
            { type: 'null' }),
      },
    },
    ...{ [REFUSALS_KEY]: refusalsOf(operation) },
  };
}

/** The key that holds the refusal codes of an operation until `finishDocument` turns them into responses. */
export const REFUSALS_KEY = 'x-refusals';

const PLAIN_TEXT = {
  'text/plain': { schema: { type: 'string', description: 'The same as plain text.', examples: ['text'] } },
} as const;

function descriptionOf(schema: { readonly description?: string }): string | undefined {
  return schema.description;
}

function sectionOf(path: string): string {
  const [, prefix = '', , section = ''] = path.split('/');
  if (prefix === 'sync') return 'devices';
  if (prefix === 'app') return 'push';
  if (prefix !== 'rc') return 'service';
  const [, noun] = /^(user|group|client|token)_(?:details|names)$/.exec(section ?? '') ?? [];
  if (noun !== undefined) return `${noun}s`;
  return section === 'readstate' ? 'read_state' : section;
}
