import type { SourceSchema, ValueSchema } from '@tidemark/protocol';
import { commentOf } from './comment.ts';
import { type DescribedSource, sortedEntries, sortedSources } from './described-source.ts';
import { type Layout, listTypeLayout, memberLayout, render } from './layout.ts';
import { keyText, literalType } from './literals.ts';
import { TypeNames } from './type-names.ts';
import { fitting, isTyped, membersOf, type ObjectSchema, typesOf } from './value-types.ts';
import { HEADER, sourcesText, versionsText } from './written-file.ts';

/** Types that the file declares for itself, so that it imports nothing. They are written if they are used. */
const OWN_TYPES = {
  JsonValue: `/** Any value of an attribute. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
`,
  JsonObject: `/** Any attributes. */
export type JsonObject = { readonly [name: string]: JsonValue };
`,
  FileValue: `/** The value of an attribute that names a file by its content. */
export type FileValue = {
  readonly $file: { readonly sha256: string; readonly size: number; readonly type: string; readonly name?: string };
};
`,
} as const;

type OwnType = keyof typeof OWN_TYPES;

/** Returns a TypeScript file with a type for every source. The same sources give the same text. */
export function typescriptText(sources: readonly DescribedSource[]): string {
  return new TypescriptFile(sortedSources(sources)).text();
}

class TypescriptFile {
  readonly #sources: readonly DescribedSource[];
  readonly #names = new TypeNames(['Sources', ...Object.keys(OWN_TYPES)]);
  readonly #used = new Set<OwnType>();

  constructor(sources: readonly DescribedSource[]) {
    this.#sources = sources;
  }

  text(): string {
    // Sources come first, so that no type of a nested value takes the name of one.
    const names = this.#sources.map(({ name, schema }) =>
      isTyped(schema) ? this.#names.add(name) : this.#own('JsonObject'),
    );
    const types = this.#sources.flatMap(({ schema }, at) =>
      isTyped(schema) ? this.#object(names[at] as string, schema) : [],
    );
    const sources = this.#sources.map((source, at) => ({ ...source, type: names[at] as string }));
    if (this.#used.has('JsonValue')) this.#own('JsonObject');
    if (this.#used.has('JsonObject')) this.#own('JsonValue');
    const own = Object.entries(OWN_TYPES).flatMap(([name, text]) => (this.#used.has(name as OwnType) ? [text] : []));
    return [HEADER, ...types, sourcesText(sources), versionsText(this.#sources), ...own].join('\n');
  }

  /** A type with a name, and those of the objects inside of it. */
  #object(name: string, schema: SourceSchema | ObjectSchema): readonly string[] {
    const inner: string[] = [];
    const required = new Set(schema.required);
    const members = sortedEntries(membersOf(schema)).map(([key, value]) => {
      const start = `readonly ${keyText(key)}${required.has(key) ? '' : '?'}:`;
      const member = render(memberLayout(start, this.#union(value, [name, key], inner)), 1, ';');
      return `${commentOf(value, '  ')}  ${member}\n`;
    });
    return [`${commentOf(schema)}export type ${name} = {\n${members.join('')}};\n`, ...inner];
  }

  /** The types that a value may have. Objects inside of it get a type with a name, which is added to `inner`. */
  #union(schema: ValueSchema, path: readonly string[], inner: string[]): readonly Layout[] {
    const literals = fitting(schema);
    if (literals !== null) return literals.length === 0 ? ['never'] : unique(literals.map(literalType));
    const types = typesOf(schema).map((type) => {
      switch (type) {
        case 'any':
          return this.#own('JsonValue');
        case 'file':
          return this.#own('FileValue');
        case 'array':
          return listTypeLayout(this.#union(schema.items ?? {}, [...path, 'Item'], inner));
        case 'object':
          return this.#member(schema, path, inner);
        default:
          return type;
      }
    });
    return unique(types);
  }

  #member(schema: ValueSchema, path: readonly string[], inner: string[]): string {
    if (!isTyped(schema)) return this.#own('JsonObject');
    const name = this.#names.add(...path);
    // The attribute has the comment already.
    const { title: _title, description: _description, deprecated: _deprecated, ...rest } = schema;
    inner.push(...this.#object(name, rest));
    return name;
  }

  #own(name: OwnType): string {
    this.#used.add(name);
    return name;
  }
}

function unique(types: readonly Layout[]): readonly Layout[] {
  return [...new Set(types)];
}
