/** As much of an OpenAPI 3.1 document as the suites look at. */
export interface ApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

export interface ApiOperation {
  readonly summary?: string;
  readonly parameters?: readonly ApiParameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
  readonly security?: readonly unknown[];
}

export interface ApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly required?: boolean;
  readonly schema: Schema;
}

export type Schema = Readonly<Record<string, unknown>>;
export type Content = Readonly<Record<string, { readonly schema: Schema }>>;

/** One method of one path. */
export interface Endpoint {
  /** In capitals. */
  readonly method: string;
  /** With `{name}` where a parameter stands. */
  readonly template: string;
  readonly operation: ApiOperation;
}

const METHODS: ReadonlySet<string> = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']);

export function endpointsOf(document: ApiDocument): readonly Endpoint[] {
  return Object.entries(document.paths).flatMap(([template, operations]) =>
    Object.entries(operations)
      .filter(([method]) => METHODS.has(method))
      .map(([method, operation]) => ({ method: method.toUpperCase(), template, operation })),
  );
}

/** The endpoint a request reaches, or null. Literal paths win over those with parameters, as in the router. */
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
