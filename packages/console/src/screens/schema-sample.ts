import type { JsonValue, SourceSchema, ValueFormat, ValueSchema, ValueType } from '@tidemark/protocol';

/** Returns attributes for an example of an object: those that the schema requires, or else the first it names. */
export function sampleAttributes({ properties, required = [] }: SourceSchema): Readonly<Record<string, JsonValue>> {
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1);
  return sampleMembers(properties, names);
}

function sampleMembers(properties: Readonly<Record<string, ValueSchema>>, names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, sampleValue(properties[name] ?? {}, name)]));
}

const FORMATS: Readonly<Record<Exclude<ValueFormat, 'file'>, string>> = {
  date: '2030-01-31',
  'date-time': '2030-01-31T12:00:00Z',
  time: '12:00:00Z',
  email: 'ada@example.com',
  uri: 'https://example.com/',
  uuid: '6f0c1b0e-9a53-4c0f-8a4e-2f6f3f0b7a11',
};

const VALUES: { readonly [K in ValueType]: (schema: ValueSchema, name: string) => JsonValue } = {
  string: ({ format, minLength = 0, maxLength }, name) =>
    format === undefined || format === 'file' ? name.padEnd(minLength, '.').slice(0, maxLength) : FORMATS[format],
  number: sampleNumber,
  integer: sampleInteger,
  boolean: () => true,
  null: () => null,
  object: ({ properties = {}, required = [] }) => sampleMembers(properties, required),
  array: ({ items = {}, minItems = 0 }, name) => Array.from({ length: minItems }, () => sampleValue(items, name)),
};

/** A file is left as an empty reference, because nobody can make one up. */
function sampleValue(schema: ValueSchema, name: string): JsonValue {
  const { type = 'string' } = schema;
  const [first] = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  if (first !== undefined) return first;
  if (schema.format === 'file') return { $file: {} };
  const [one = 'string'] = typeof type === 'string' ? [type] : type;
  return VALUES[one](schema, name);
}

function sampleNumber({ minimum, maximum = 1 }: ValueSchema): number {
  return minimum ?? Math.min(1, maximum);
}

function sampleInteger({ minimum, maximum = 1 }: ValueSchema): number {
  return minimum === undefined ? Math.floor(Math.min(1, maximum)) : Math.ceil(minimum);
}
