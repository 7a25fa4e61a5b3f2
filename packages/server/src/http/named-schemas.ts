import { isDeepStrictEqual } from 'node:util';

type Json = Record<string, unknown>;

/** Moves schemas with a title to the components, and leaves references in their place. */
export class NamedSchemas {
  readonly all: Json = {};

  extract(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.extract(item));
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).map(([name, member]) =>
      LITERALS.has(name) ? [name, member] : [name, this.extract(member)],
    );
    const schema = simplified(Object.fromEntries(members) as Json);
    return typeof schema.title === 'string' && isSchema(schema) ? this.#refer(schema.title, schema) : schema;
  }

  #refer(name: string, { title: _, ...schema }: Json): Json {
    const known = this.all[name];
    if (known !== undefined && !isDeepStrictEqual(known, schema)) {
      throw new Error(`two different schemas have the title ${name}`);
    }
    this.all[name] = schema;
    return { $ref: `#/components/schemas/${name}` };
  }
}

/** Keywords that hold data, not schemas. */
const LITERALS: ReadonlySet<string> = new Set(['example', 'examples', 'enum', 'const', 'default']);

/** Excludes `info` and properties named `title`, which have a `title` as well. */
function isSchema(schema: Json): boolean {
  return ['type', 'anyOf', 'enum', 'allOf'].some((keyword) => keyword in schema);
}

/** Returns the schema in the form that client generators support best. */
function simplified(schema: Json): Json {
  const { anyOf, const: only, patternProperties, ...rest } = schema;
  if (only !== undefined) return { ...rest, enum: [only] };
  if (typeof patternProperties === 'object') {
    return { ...rest, additionalProperties: Object.values(patternProperties as Json)[0] };
  }
  if (Array.isArray(schema.enum) && schema.type === undefined) return { type: 'string', ...schema };
  return Array.isArray(anyOf) ? simplifiedUnion(anyOf, rest) : schema;
}

/** Turns a union of constants into an enumeration, and a union with null into a list of types. */
function simplifiedUnion(members: readonly Json[], rest: Json): Json {
  if (members.every((member) => Array.isArray(member.enum) && member.type === 'string')) {
    return { type: 'string', enum: members.flatMap((member) => member.enum), ...rest };
  }
  const [first, second] = members;
  const isNullable = members.length === 2 && second?.type === 'null' && typeof first?.type === 'string';
  if (first === undefined || !isNullable) return { anyOf: members, ...rest };
  const values = Array.isArray(first.enum) ? { enum: [...first.enum, null] } : {};
  return { ...first, ...values, type: [first.type, 'null'], ...rest };
}
