/** The parts of an OpenAPI 3.1 document that the suites use. */
export interface ApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly components?: {
    readonly schemas?: Readonly<Record<string, Schema>>;
    readonly responses?: Readonly<Record<string, ApiResponse>>;
  };
}

export interface ApiResponse {
  readonly description: string;
  readonly content?: Content;
}

export interface Reference {
  readonly $ref: string;
}

export interface ApiOperation {
  readonly operationId?: string;
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly ApiParameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, ApiResponse | Reference>>;
  readonly security?: readonly unknown[];
}

export interface ApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly required?: boolean;
  readonly description?: string;
  readonly example?: unknown;
  readonly schema: Schema;
}

export type Schema = Readonly<Record<string, unknown>>;
export type Content = Readonly<Record<string, { readonly schema: Schema }>>;

/** One method of one path. */
export interface Endpoint {
  /** In upper case. */
  readonly method: string;
  /** With `{name}` for each parameter. */
  readonly template: string;
  readonly operation: ApiOperation;
  /** The schema of the JSON body with all references resolved; null: it has no body. */
  readonly body: Schema | null;
}

const METHODS: ReadonlySet<string> = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']);

export function endpointsOf(document: ApiDocument): readonly Endpoint[] {
  return Object.entries(document.paths).flatMap(([template, operations]) =>
    Object.entries(operations)
      .filter(([method]) => METHODS.has(method))
      .map(([method, operation]) => {
        const schema = operation.requestBody?.content['application/json']?.schema;
        const body = schema === undefined ? null : (dereferenced(document, schema) as Schema);
        return { method: method.toUpperCase(), template, operation, body };
      }),
  );
}

/** Returns the value at a path of the document, following a reference there. `path` lists the members that lead to it. */
export function resolved(
  document: ApiDocument,
  place: readonly string[],
): { place: readonly string[]; value: unknown } {
  const value = place.reduce<unknown>(
    (parent, name) => (parent as Record<string, unknown> | undefined)?.[name],
    document,
  );
  const { $ref } = (value ?? {}) as Partial<Reference>;
  return $ref === undefined ? { place, value } : resolved(document, placeOf($ref));
}

/** Ends because no schema of the API contains itself. */
function dereferenced(document: ApiDocument, schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map((item) => dereferenced(document, item));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref } = schema as Partial<Reference>;
  if ($ref !== undefined) return dereferenced(document, resolved(document, placeOf($ref)).value);
  return Object.fromEntries(Object.entries(schema).map(([name, member]) => [name, dereferenced(document, member)]));
}

function placeOf(reference: string): readonly string[] {
  const parts = reference.replace(/^#\//, '').split('/');
  return parts.map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Returns the endpoint of a request, or null. Literal paths win over those with parameters, as in the router. */
export function endpointFor(endpoints: readonly Endpoint[], method: string, path: string): Endpoint | null {
  const [plain = ''] = path.split('?', 1);
  const wanted = method === 'HEAD' ? 'GET' : method;
  const matching = endpoints.filter((endpoint) => endpoint.method === wanted && matches(endpoint.template, plain));
  const parameters = ({ template }: Endpoint) => template.split('{').length;
  return matching.sort((left, right) => parameters(left) - parameters(right))[0] ?? null;
}

function matches(template: string, path: string): boolean {
  const wanted = template.split('/');
  const given = path.split('/');
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith('{') || part === given[index]);
}
