import type { SourceSchema } from '@tidemark/protocol';
import { type DescribedSource, sortedSources } from './described-source.ts';
import { plainSchema } from './json-schema.ts';
import { MARK } from './written-file.ts';

type Schema = Readonly<Record<string, unknown>>;

/** What each push route takes, by its members: ids, some of the attributes of objects, or whole objects. */
const ROUTES = {
  push_objects: {
    summary: 'Add, update and delete objects',
    members: { objects: 'some', deletes: 'ids', whole: 'flag', rebuild_md: 'flag' },
  },
  push_deletes: { summary: 'Delete objects', members: { objects: 'ids', rebuild_md: 'flag' } },
  fast_insert: { summary: 'Replace whole objects', members: { objects: 'whole' } },
  fast_update: { summary: 'Remove attributes and set others', members: { delete_data: 'some', data: 'some' } },
  fast_delete: { summary: 'Remove attributes', members: { data: 'some' } },
} as const satisfies Readonly<
  Record<
    string,
    { readonly summary: string; readonly members: Readonly<Record<string, 'ids' | 'some' | 'whole' | 'flag'>> }
  >
>;

const OPTIONAL: ReadonlySet<string> = new Set(['deletes', 'whole', 'rebuild_md']);

const TEXT = { type: 'string' };
const WRITE_REPORT = {
  type: 'object',
  properties: {
    source: TEXT,
    changed: { type: 'integer' },
    unchanged: { type: 'integer' },
    seq: { type: 'integer' },
  },
  required: ['source', 'changed', 'unchanged', 'seq'],
};
const PROBLEM = {
  type: 'object',
  properties: {
    code: TEXT,
    detail: TEXT,
    errors: {
      type: 'array',
      items: { type: 'object', properties: { pointer: TEXT, detail: TEXT } },
    },
  },
  required: ['code', 'detail'],
};

/** Returns an OpenAPI 3.1 description of the push routes of every source, with the attributes of its objects. */
export function openApiText(sources: readonly DescribedSource[]): string {
  const names = new ComponentNames();
  const described = sortedSources(sources).map(({ name, schema }) => ({ source: name, schema, name: names.add(name) }));
  const text = {
    openapi: '3.1.0',
    info: {
      title: 'Pushes to the sources of a Tidemark server',
      version: '1',
      description: `${MARK} from the schemas of the sources. Do not change it by hand: run the command again.`,
    },
    servers: [{ url: '/' }],
    security: [{ header: [] }],
    paths: Object.fromEntries(described.flatMap(({ source, name }) => pathsOf(source, name))),
    components: {
      securitySchemes: { header: { type: 'apiKey', in: 'header', name: 'X-Sync-API-TOKEN' } },
      schemas: {
        ...Object.fromEntries(described.flatMap(({ schema, name }) => schemasOf(schema, name))),
        'Tidemark.WriteReport': WRITE_REPORT,
        'Tidemark.Problem': PROBLEM,
      },
    },
  };
  return `${JSON.stringify(text, null, 2)}\n`;
}

/** The whole objects of a source, and some of their attributes, none of which is required. */
function schemasOf(schema: SourceSchema | null, name: string): readonly (readonly [string, Schema])[] {
  const whole = schema === null ? { type: 'object' } : plainSchema({ ...schema, type: 'object' });
  const { required: _, ...some } = whole as Schema;
  return [
    [name, whole as Schema],
    [`${name}.Some`, some],
  ];
}

function pathsOf(source: string, name: string): readonly (readonly [string, Schema])[] {
  return Object.entries(ROUTES).map(([route, { summary, members }]) => {
    const body = Object.entries(members).map(([member, kind]) => [member, memberSchema(kind, name)] as const);
    const schema = {
      type: 'object',
      properties: { user_id: TEXT, group: TEXT, ...Object.fromEntries(body) },
      required: body.map(([member]) => member).filter((member) => !OPTIONAL.has(member)),
      additionalProperties: false,
    };
    const post = {
      operationId: `${name}.${route}`,
      summary: `${summary} of ${source}`,
      requestBody: { required: true, content: { 'application/json': { schema } } },
      responses: {
        200: answer('How many objects have changed.', 'application/json', 'Tidemark.WriteReport'),
        422: answer('What does not fit, with a pointer for each flaw.', 'application/problem+json', 'Tidemark.Problem'),
      },
    };
    return [`/app/v1/${encodeURIComponent(source)}/${route}`, { post }];
  });
}

function memberSchema(kind: 'ids' | 'some' | 'whole' | 'flag', name: string): Schema {
  if (kind === 'flag') return { type: 'boolean' };
  if (kind === 'ids') return { type: 'array', items: TEXT };
  const component = kind === 'whole' ? name : `${name}.Some`;
  return { type: 'object', additionalProperties: { $ref: `#/components/schemas/${component}` } };
}

function answer(description: string, type: string, component: string): Schema {
  return { description, content: { [type]: { schema: { $ref: `#/components/schemas/${component}` } } } };
}

/** Gives sources names that components may have, each of them once: letters and digits of ASCII, `_` and `-`. */
class ComponentNames {
  readonly #taken = new Set<string>();

  add(source: string): string {
    const wanted = source.replaceAll(/[^A-Za-z0-9_-]/g, '_');
    let name = wanted;
    for (let count = 2; this.#taken.has(name); count++) name = `${wanted}-${count}`;
    this.#taken.add(name);
    return name;
  }
}
