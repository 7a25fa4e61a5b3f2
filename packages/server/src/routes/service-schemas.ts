import { ConnectorFault } from '@tidemark/protocol/admin/connectors';
import { closed, count, flag, nullableMoment, text, texts } from '@tidemark/protocol/annotated';
import { type TSchema, Type } from '@tidemark/protocol/typebox';
import type { FastifySchema } from 'fastify';
import { operationSchema } from '../http/route-schema.ts';

const breaker = {
  state: Type.Enum(['unset', 'closed', 'open', 'trying'], {
    description:
      'The circuit breaker: `unset` without a backend, `closed` when calls go through, `open` when none do, `trying` while one call tries.',
  }),
  failures: count('Failed calls in a row.', 0),
  until: nullableMoment('Until when no call is made; null: calls are made.'),
};
const Breaker = Type.Object(breaker, { ...closed, title: 'Breaker', description: 'A circuit breaker.' });

/** The description of the service routes, which are outside of the versioned paths. Most need no token. */
const Readiness = Type.Object(
  {
    status: Type.Union([Type.Literal('ready'), Type.Literal('not_ready'), Type.Literal('draining')], {
      description: 'Whether the server takes work; `draining`: it was told to stop, and still answers what comes.',
    }),
    degraded: flag(
      'True: devices are served, but somebody should look: a connector is behind, silent or not connected, its slot is in danger, or rows cannot be stored.',
    ),
    durability: Type.Optional(
      text('Where a write is when it is answered: `durable`, `buffered` or `memory`.', 'durable'),
    ),
    checks: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: text('What was looked at.', 'store'),
            ok: flag('False: this keeps the server from being ready.'),
            detail: text('What was found.', 'writes'),
          },
          { ...closed, description: 'One check.' },
        ),
        { description: 'What was looked at. Only for callers who may read.' },
      ),
    ),
    connectors: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: text('The name of the connector.', 'field'),
            state: text('What it does.', 'streaming'),
            lag_ms: count('How far it is behind its database.', 40),
            faults: Type.Array(ConnectorFault, { description: 'What is wrong; empty: nothing.' }),
          },
          { ...closed, description: 'A connector.' },
        ),
        { description: 'The databases that are connected; they do not decide whether the server is ready.' },
      ),
    ),
    backend: Type.Optional(
      Type.Object(
        {
          ...breaker,
          calls: Type.Optional(
            Type.Object(
              { authenticate: Breaker, query: Breaker, upload: Breaker, search: Breaker },
              { ...closed, description: 'The circuit breaker of each kind of call.' },
            ),
          ),
          logins: Type.Optional(
            Type.Enum(['backend', 'own_passwords', 'unknown'], {
              description: 'Who checks logins, as far as is known.',
            }),
          ),
        },
        { ...closed, description: 'How the backend does; it does not decide whether the server is ready.' },
      ),
    ),
    sign_in: Type.Optional(
      texts(
        'Who can confirm a sign-in of a device, in this order: identity providers, the backend, the passwords stored here.',
        ['issuer company', 'own_passwords'],
      ),
    ),
  },
  {
    ...closed,
    title: 'Readiness',
    description: 'Whether the server takes work, and for callers who may read also why.',
  },
);

const Health = Type.Object(
  { status: Type.Literal('ok', { description: 'Always `ok`.' }) },
  { ...closed, title: 'Health', description: 'The server is there.' },
);

const Version = Type.Object(
  { name: text('The name of the product.', 'tidemark'), version: text('Its version.', '0.1.0') },
  { ...closed, title: 'Version', description: 'Which server it is.' },
);

function service(path: string, operationId: string, summary: string, answer: TSchema): FastifySchema {
  return operationSchema({ method: 'GET', path, operationId, scope: 'public', summary, answer });
}

const NOT_READY = {
  description: 'The server takes no work now.',
  content: { 'application/json': { schema: Readiness } },
};
const METRICS = {
  description: 'Metrics in the text format of Prometheus.',
  content: { 'text/plain': { schema: text('One line for each sample.', 'tidemark_audit_missing_total 0') } },
};

const readiness = service(
  '/readyz',
  'serviceReadiness',
  'Whether the server takes work; with a token also why',
  Readiness,
);
const metrics = operationSchema({
  method: 'GET',
  path: '/metrics',
  operationId: 'serviceMetrics',
  scope: 'read',
  summary: 'Measurements for Prometheus',
  description: 'The configuration can make it public.',
  answer: Type.String(),
});

export const serviceSchemas: Readonly<Record<'health' | 'version' | 'readiness' | 'metrics', FastifySchema>> = {
  health: service('/healthz', 'serviceHealth', 'That the server is there', Health),
  version: service('/version', 'serviceVersion', 'Which server it is', Version),
  readiness: { ...readiness, response: { ...(readiness.response as object), 503: NOT_READY } },
  metrics: { ...metrics, security: [{ header: [] }, { bearer: [] }, {}], response: { 200: METRICS } },
};
