import type { JsonValue, ValueSchema } from '@tidemark/protocol';
import { commentOf } from './comment.ts';
import { type DescribedSource, sortedEntries, sortedSources } from './described-source.ts';
import { callLayout, type Layout, listLayout, render, suffixed } from './layout.ts';
import { keyText, literalOf } from './literals.ts';
import { TypeNames } from './type-names.ts';
import { fitting, isTyped, type KnownType, membersOf, type ObjectSchema, typesOf } from './value-types.ts';
import { HEADER, sourcesText, versionsText } from './written-file.ts';

const IMPORT = `import * as z from 'zod';
`;

const FILE_VALUE = `/** The value of an attribute that names a file by its content. */
export const FileValue = z.object({
  $file: z.object({ sha256: z.string(), size: z.number(), type: z.string(), name: z.string().optional() }),
});
`;

const UNTYPED = `/** Any attributes. */
export const JsonObject = z.record(z.string(), z.json());
export type JsonObject = z.infer<typeof JsonObject>;
`;

/** What Zod checks of texts. A time of day without a zone is another one for Zod than for JSON Schema. */
const FORMATS: Readonly<Partial<Record<string, string>>> = {
  date: 'z.iso.date()',
  'date-time': 'z.iso.datetime({ offset: true })',
  email: 'z.email()',
  uri: 'z.url()',
  uuid: 'z.guid()',
};

/** Returns a TypeScript file with a schema of Zod for every source. The same sources give the same text. */
export function zodText(sources: readonly DescribedSource[]): string {
  return new ZodFile(sortedSources(sources)).text();
}

class ZodFile {
  readonly #sources: readonly DescribedSource[];
  readonly #names = new TypeNames(['Sources', 'JsonObject', 'FileValue']);
  #usesFiles = false;

  constructor(sources: readonly DescribedSource[]) {
    this.#sources = sources;
  }

  text(): string {
    const names = this.#sources.map(({ name, schema }) => (isTyped(schema) ? this.#names.add(name) : 'JsonObject'));
    const schemas = this.#sources.flatMap(({ schema }, at) =>
      isTyped(schema) ? this.#object(names[at] as string, schema) : [],
    );
    const sources = this.#sources.map((source, at) => ({ ...source, type: names[at] as string }));
    // A schema is used after it is made.
    const shared = [...(this.#usesFiles ? [FILE_VALUE] : []), ...(names.includes('JsonObject') ? [UNTYPED] : [])];
    return [HEADER, IMPORT, ...shared, ...schemas, sourcesText(sources), versionsText(this.#sources)].join('\n');
  }

  /** The schemas of the objects inside of an object, and then its own. */
  #object(name: string, schema: ObjectSchema): readonly string[] {
    const inner: string[] = [];
    const required = new Set(schema.required);
    const members = sortedEntries(membersOf(schema)).map(([key, value]) => {
      const valueSchema = this.#value(value, [name, key], inner);
      const member = suffixed(valueSchema, required.has(key) ? '' : '.optional()');
      return `${commentOf(value, '  ')}  ${keyText(key)}: ${render(member, 1, ',')}\n`;
    });
    const kind = schema.additionalProperties === false ? 'strictObject' : 'object';
    const own = `${commentOf(schema)}export const ${name} = z.${kind}({\n${members.join('')}});\n`;
    return [...inner, `${own}export type ${name} = z.infer<typeof ${name}>;\n`];
  }

  #value(schema: ValueSchema, path: readonly string[], inner: string[]): Layout {
    const listed = fitting(schema);
    if (listed !== null) return listedValues(listed);
    const types = typesOf(schema);
    const [only] = types.filter((type) => type !== 'null');
    const kinds = types.filter((type) => type !== 'null').map((type) => this.#kind(type, schema, path, inner));
    if (only === undefined) return 'z.null()';
    const value = kinds.length === 1 ? (kinds[0] as Layout) : callLayout('z.union', listLayout(kinds));
    return suffixed(value, types.includes('null') ? '.nullable()' : '');
  }

  #kind(type: KnownType, schema: ValueSchema, path: readonly string[], inner: string[]): Layout {
    switch (type) {
      case 'file':
        this.#usesFiles = true;
        return 'FileValue';
      case 'string':
        return `${FORMATS[schema.format ?? ''] ?? 'z.string()'}${bounds(schema.minLength, schema.maxLength)}`;
      case 'number':
        return `${isInteger(schema) ? 'z.int()' : 'z.number()'}${bounds(schema.minimum, schema.maximum)}`;
      case 'boolean':
        return 'z.boolean()';
      case 'array': {
        const items = this.#value(schema.items ?? {}, [...path, 'Item'], inner);
        return suffixed(callLayout('z.array', items), bounds(schema.minItems, schema.maxItems));
      }
      case 'object':
        return this.#member(schema, path, inner);
      default:
        return 'z.json()';
    }
  }

  #member(schema: ValueSchema, path: readonly string[], inner: string[]): Layout {
    if (!isTyped(schema)) return 'z.record(z.string(), z.json())';
    const name = this.#names.add(...path);
    inner.push(...this.#object(name, { ...schema, title: '', description: '' }));
    return name;
  }
}

/** Lists and objects are compared by no schema of Zod. */
function listedValues(values: readonly JsonValue[]): Layout {
  if (values.length === 0) return 'z.never()';
  if (values.some((value) => typeof value === 'object' && value !== null)) return 'z.json()';
  const areTexts = values.every((value) => typeof value === 'string');
  return callLayout(areTexts ? 'z.enum' : 'z.literal', listLayout(values.map(literalOf)));
}

function isInteger({ type }: ValueSchema): boolean {
  return type === 'integer' || (Array.isArray(type) && type.includes('integer') && !type.includes('number'));
}

function bounds(min: number | undefined, max: number | undefined): string {
  return `${min === undefined ? '' : `.min(${min})`}${max === undefined ? '' : `.max(${max})`}`;
}
