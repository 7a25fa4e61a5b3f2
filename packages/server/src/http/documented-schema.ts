import type { TSchema } from '@tidemark/protocol/typebox';

const SHOWN = 'x-shown';

/**
 * Returns options that make the API description show another schema than the one that validates requests. It is used
 * for values that admission checks: admission looks at every key anyway and reports each mistake more precisely than
 * a schema.
 */
export function documentedAs(schema: TSchema): { readonly [SHOWN]: TSchema } {
  return { [SHOWN]: schema };
}

/** Returns the schema for the API description: each `shown` schema replaces the one that carries it. */
export function documentedSchema(schema: TSchema): TSchema {
  return replaced(schema) as TSchema;
}

function replaced(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(replaced);
  if (typeof value !== 'object' || value === null) return value;
  if (SHOWN in value) return replaced(value[SHOWN]);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replaced(member)]));
}
