import type { FastifySchema } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { REFUSED } from '../http/route-schema.ts';
import { NullableText, Text } from './shapes.ts';

const breaker = {
  state: Type.Enum(['unset', 'closed', 'open', 'trying']),
  failures: Type.Integer({ minimum: 0 }),
  until: NullableText,
};
const Breaker = Type.Object(breaker, { additionalProperties: false });

/** How the service routes are described. They stand outside the versioned paths, and most need no token. */
const Readiness = Type.Object(
  {
    status: Type.Union([Type.Literal('ready'), Type.Literal('not_ready')]),
    durability: Type.Optional(Text),
    checks: Type.Optional(
      Type.Array(Type.Object({ name: Text, ok: Type.Boolean(), detail: Text }, { additionalProperties: false })),
    ),
    backend: Type.Optional(
      Type.Object(
        {
          ...breaker,
          calls: Type.Optional(
            Type.Object(
              { authenticate: Breaker, query: Breaker, upload: Breaker, search: Breaker },
              { additionalProperties: false, description: 'The circuit breaker of each kind of call.' },
            ),
          ),
          logins: Type.Optional(
            Type.Enum(['backend', 'own_passwords', 'unknown'], {
              description: 'Who checks logins, as far as is known.',
            }),
          ),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

function service(
  summary: string,
  type: string,
  schema: TSchema,
  others: Readonly<Record<string, unknown>> = {},
): FastifySchema {
  const response = { 200: { description: summary, content: { [type]: { schema } } }, '4xx': REFUSED, ...others };
  return { summary, tags: ['service'], security: [], response };
}

export const serviceSchemas: Readonly<Record<'health' | 'version' | 'readiness' | 'metrics', FastifySchema>> = {
  health: service(
    'That the server is there',
    'application/json',
    Type.Object({ status: Type.Literal('ok') }, { additionalProperties: false }),
  ),
  version: service(
    'Which server it is',
    'application/json',
    Type.Object({ name: Text, version: Text }, { additionalProperties: false }),
  ),
  readiness: service('Whether the server takes work; with a token also why', 'application/json', Readiness, {
    503: { description: 'It does not', content: { 'application/json': { schema: Readiness } } },
  }),
  metrics: {
    ...service('Measurements for Prometheus', 'text/plain', Text),
    description: 'Needs a token with the scope `read`, unless the configuration makes it public.',
    security: [{ header: [] }, { bearer: [] }, {}],
  },
};
