/** A call to a backend, with the schemas of its request and answer. */
export interface BackendCallContract {
  readonly summary: string;
  readonly description: string;
  readonly request: object;
  readonly answer: object;
  /** What answers other than 2xx mean. */
  readonly refusals: Readonly<Record<string, string>>;
}

/** Moves schemas with a title to the components of a document. */
interface SchemaExtractor {
  readonly all: object;
  extract(value: unknown): unknown;
}

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

/** The members of RFC 9457 that Tidemark reads. */
const Problem = {
  type: 'object',
  properties: {
    detail: {
      type: 'string',
      description: 'Why, for the people at the device; 500 characters of it are told.',
      examples: ['out of stock'],
    },
    code: {
      type: 'string',
      description:
        'Only codes about signatures are looked at: `signature_missing`, `signature_invalid`, `timestamp_out_of_range`.',
      examples: ['rejected'],
    },
  },
  title: 'Problem',
  description: 'Why the call was refused.',
};

const PROBLEM = { 'application/problem+json': { schema: Problem }, 'application/json': { schema: Problem } };

/** Refusals with the same meaning for every call. */
const SHARED_REFUSALS: Readonly<Record<string, string>> = {
  '401': 'The backend does not accept the signature: the call is repeated later.',
  '408': 'The call is repeated later, not before `Retry-After`.',
  '425': 'The call is repeated later, not before `Retry-After`.',
  '429': 'The call is repeated later, not before `Retry-After`.',
};

/** Describes the calls to a backend as an OpenAPI 3.1 document. docs/backend/openapi.json is the result as text. */
export function backendDescription(
  contracts: Readonly<Record<string, BackendCallContract>>,
  schemas: SchemaExtractor,
): object {
  const calls = Object.entries(contracts).map(([call, contract]) => [`/${call}`, pathOf(call, contract)]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'What Tidemark asks of a backend',
      version: '1',
      description: 'Tidemark posts these to `{adapter_url}/<call>`. docs/backend/contract.md says what they mean.',
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
  // A later version may send more members, which strict readers of this document must not refuse.
  const { additionalProperties: _, ...open } = request as { readonly additionalProperties?: unknown };
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
