import type { JsonValue, SourceSchema, ValueSchema, ValueType } from '@tidemark/protocol';

/** What a value may be, in words that all formats share. */
export type KnownType = 'any' | 'file' | 'string' | 'number' | 'boolean' | 'object' | 'array' | 'null';

/** The types that a schema allows; null comes last. */
export function typesOf(schema: ValueSchema): readonly KnownType[] {
  const given = givenTypes(schema);
  const nothing: readonly KnownType[] = given.includes('null') ? ['null'] : [];
  if (schema.format === 'file') return ['file', ...nothing];
  // An id is a text.
  if (given.length === 0) return [schema.reference === undefined ? 'any' : 'string'];
  const types = given.filter((type) => type !== 'null').map((type) => (type === 'integer' ? 'number' : type));
  return [...new Set(types), ...nothing];
}

/** The values that a schema lists and that have its type; null: it lists none. */
export function fitting(schema: ValueSchema): readonly JsonValue[] | null {
  const listed = schema.const === undefined ? schema.enum : [schema.const];
  if (listed === undefined) return null;
  const types = givenTypes(schema);
  return types.length === 0 ? listed : listed.filter((value) => types.some((type) => isOfType(value, type)));
}

/** A schema of an object whose members are known, at least by name. */
export type ObjectSchema = Pick<
  SourceSchema,
  'title' | 'description' | 'properties' | 'required' | 'additionalProperties'
>;

/** Whether anything is known of the members of an object. */
export function isTyped<S extends ValueSchema | SourceSchema>(schema: S | null): schema is S & ObjectSchema {
  return schema !== null && Object.keys(membersOf(schema)).length > 0;
}

/** The members that a schema knows. Those that it requires and does not describe may be anything. */
export function membersOf({
  properties = {},
  required = [],
}: Partial<ObjectSchema>): Readonly<Record<string, ValueSchema>> {
  return { ...Object.fromEntries(required.map((name) => [name, {}])), ...properties };
}

function givenTypes({ type = [] }: ValueSchema): readonly ValueType[] {
  return typeof type === 'string' ? [type] : type;
}

function isOfType(value: JsonValue, type: ValueType): boolean {
  if (value === null) return type === 'null';
  if (Array.isArray(value)) return type === 'array';
  if (typeof value === 'number') return type === 'number' || (type === 'integer' && Number.isInteger(value));
  return typeof value === type;
}
