import type { TSchema } from 'typebox';

const SHOWN = 'x-shown';

/**
 * Options that make the API description show another schema than the one requests are validated by. It is for what
 * admission checks: admission has to look at every key anyway, and names each mistake more precisely than a schema can.
 */
export function documentedAs(schema: TSchema): { readonly [SHOWN]: TSchema } {
  return { [SHOWN]: schema };
}

/** The schema as the API description shows it: whatever stands in `shown` replaces what carries it. */
export function documentedSchema(schema: TSchema): TSchema {
  return replaced(schema) as TSchema;
}

function replaced(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(replaced);
  if (typeof value !== 'object' || value === null) return value;
  if (SHOWN in value) return replaced(value[SHOWN]);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replaced(member)]));
}
