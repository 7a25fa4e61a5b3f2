import { BACKEND_CALLS, type BackendCallContract } from './backend-contract.ts';

const HEADERS = [
  ['webhook-id', 'Different for every request, also for repetitions. Whoever has seen it before is being replayed to.'],
  ['webhook-timestamp', 'Seconds since 1970. What is older than a few minutes is being replayed.'],
  ['webhook-signature', '`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`, as Standard Webhooks says.'],
] as const;

const PROBLEM = {
  type: 'object',
  properties: { detail: { type: 'string', description: 'Why, for the people at the device.' } },
};

/** The calls a backend answers, as an OpenAPI 3.1 document. docs/backend-openapi.json is this, as text. */
export function backendDescription(): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'What Tidemark asks of a backend',
      version: '1',
      description: 'Tidemark posts these to `{adapter_url}/<call>`. docs/backend.md says what they mean.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '{adapter_url}', variables: { adapter_url: { default: 'http://localhost:3000/tidemark' } } }],
    paths: Object.fromEntries(
      Object.entries(BACKEND_CALLS).map(([call, contract]) => [`/${call}`, pathOf(call, contract)]),
    ),
  };
}

function pathOf(call: string, { summary, request, answer, refusals }: BackendCallContract): object {
  return {
    post: {
      operationId: call,
      summary,
      parameters: HEADERS.map(([name, description]) => ({
        name,
        in: 'header',
        required: true,
        description,
        schema: { type: 'string' },
      })),
      requestBody: { required: true, content: { 'application/json': { schema: request } } },
      responses: {
        '200': { description: 'Done.', content: { 'application/json': { schema: answer } } },
        ...Object.fromEntries(
          Object.entries(refusals).map(([status, description]) => [
            status,
            { description, content: { 'application/json': { schema: PROBLEM } } },
          ]),
        ),
        '5XX': { description: 'Passing trouble: the call is repeated later, not before `Retry-After`.' },
      },
    },
  };
}
