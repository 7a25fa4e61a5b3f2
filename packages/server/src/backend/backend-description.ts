import { text } from '@tidemark/protocol/annotated';
import { type TSchema, Type } from 'typebox';
import { NamedSchemas } from '../http/named-schemas.ts';
import { BACKEND_CALLS, type BackendCallContract } from './backend-contract.ts';

const HEADERS = [
  {
    name: 'webhook-id',
    description:
      'Different for every request, also for repetitions. A request whose id was seen before is replayed by somebody else.',
    example: 'msg_2b7e151628aed2a6',
  },
  {
    name: 'webhook-timestamp',
    description: 'Seconds since 1970. A request that is older than a few minutes is replayed by somebody else.',
    example: '1895745600',
  },
] as const;

/** RFC 9457, as far as it is looked at. */
const Problem = Type.Object(
  {
    detail: Type.Optional(text('Why, for the people at the device; 500 characters of it are told.', 'out of stock')),
    code: Type.Optional(
      text(
        'Only codes about signatures are looked at: `signature_missing`, `signature_invalid`, `timestamp_out_of_range`.',
        'rejected',
      ),
    ),
  },
  { title: 'Problem', description: 'Why the call was refused.' },
);

const PROBLEM = { 'application/problem+json': { schema: Problem }, 'application/json': { schema: Problem } };

/** What these mean whatever was called. The contract of a call says what its other answers mean. */
const SHARED_REFUSALS: Readonly<Record<string, string>> = {
  '401': 'The backend does not accept the signature: the call is repeated later.',
  '408': 'The call is repeated later, not before `Retry-After`.',
  '425': 'The call is repeated later, not before `Retry-After`.',
  '429': 'The call is repeated later, not before `Retry-After`.',
};

/** The calls a backend answers, as an OpenAPI 3.1 document. docs/backend-openapi.json is this, as text. */
export function backendDescription(): object {
  const schemas = new NamedSchemas();
  const calls = Object.entries(BACKEND_CALLS).map(([call, contract]) => [`/${call}`, pathOf(call, contract)]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'What Tidemark asks of a backend',
      version: '1',
      description: 'Tidemark posts these to `{adapter_url}/<call>`. docs/backend.md says what they mean.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      {
        url: '{adapter_url}',
        description: 'The backend.',
        variables: {
          adapter_url: {
            default: 'http://localhost:3000/tidemark',
            description: 'As set by `POST /rc/v1/system/appserver`.',
          },
        },
      },
    ],
    tags: [{ name: 'calls', description: 'What a backend answers. Members that it does not know are to be ignored.' }],
    security: [{ signature: [] }],
    paths: schemas.extract(Object.fromEntries(calls)),
    components: {
      schemas: schemas.all,
      securitySchemes: {
        signature: {
          type: 'apiKey',
          in: 'header',
          name: 'webhook-signature',
          description:
            'One or several of `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`, as Standard Webhooks says.',
        },
      },
    },
  };
}

function pathOf(call: string, { summary, description, request, answer, refusals }: BackendCallContract): object {
  const refused = Object.entries({ ...SHARED_REFUSALS, ...refusals }).map(([status, meaning]) => [
    status,
    { description: meaning, content: PROBLEM },
  ]);
  // A later version may send more: whoever reads strictly by this document must not refuse it.
  const { additionalProperties: _, ...open } = request as TSchema & { readonly additionalProperties?: unknown };
  return {
    post: {
      operationId: call,
      summary,
      description,
      tags: ['calls'],
      parameters: HEADERS.map((header) => ({ ...header, in: 'header', required: true, schema: { type: 'string' } })),
      requestBody: { required: true, content: { 'application/json': { schema: open } } },
      responses: {
        '200': { description: 'Done.', content: { 'application/json': { schema: answer } } },
        ...Object.fromEntries(refused),
        '5XX': { description: 'Passing trouble: the call is repeated later, not before `Retry-After`.' },
      },
    },
  };
}
