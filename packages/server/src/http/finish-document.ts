import { REFUSALS, type RefusalCode } from '@tidemark/protocol';
import { NamedSchemas } from './named-schemas.ts';
import { REFUSALS_KEY } from './route-schema.ts';

type Json = Record<string, unknown>;

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: { schemas?: Json; responses?: Json };
}

/**
 * Completes the OpenAPI document of the framework: refusals become responses by status, schemas with a title move to
 * the components, and unions take the form that client generators support best.
 */
export function finishDocument<T extends object>(document: T): T {
  const { paths, components, ...rest } = document as T & Document;
  const responses: Json = {};
  const schemas = new NamedSchemas();
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path))) {
    Object.assign(operation.responses as Json, referredResponses(operation, responses));
    delete operation[REFUSALS_KEY];
  }
  const shared = { ...components, schemas: components.schemas ?? {} };
  const finished = schemas.extract({ paths, components: { ...shared, responses } }) as Document;
  return {
    ...rest,
    ...finished,
    components: { ...finished.components, schemas: { ...finished.components.schemas, ...schemas.all } },
  } as unknown as T;
}

/** Returns the responses of an operation by status. Operations with the same codes share one response. */
function referredResponses(operation: Json, shared: Json): Json {
  const codes = (operation[REFUSALS_KEY] ?? []) as readonly RefusalCode[];
  const statuses = new Set(codes.map((code) => REFUSALS[code].status));
  const referred = [...statuses].map((status) => {
    const ofStatus = codes.filter((code) => REFUSALS[code].status === status).sort();
    const name = ofStatus.map(pascalCase).join('Or');
    shared[name] ??= refusedResponse(status, ofStatus);
    return [String(status), { $ref: `#/components/responses/${name}` }] as const;
  });
  return Object.fromEntries(referred);
}

function refusedResponse(status: number, codes: readonly RefusalCode[]): Json {
  const code = { type: 'string', enum: codes };
  return {
    description: codes.map((one) => `\`${one}\`: ${REFUSALS[one].title}.`).join(' '),
    ...(status === 429 || status === 503 ? { headers: RETRY_AFTER } : {}),
    content: {
      'application/problem+json': {
        schema: { allOf: [{ $ref: '#/components/schemas/Problem' }, { type: 'object', properties: { code } }] },
      },
      'text/plain': { schema: { type: 'string' } },
    },
  };
}

const RETRY_AFTER = {
  'Retry-After': {
    description: 'Seconds to wait before the next attempt, where that is known.',
    schema: { type: 'integer', minimum: 0 },
    example: 2,
  },
} as const;

function pascalCase(code: string): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
