/** The attributes of a configured source that concern its schema, by what the call that sets it has in their place. */
const SCHEMA_FIELDS: Readonly<Record<string, string>> = {
  schema: 'schema',
  schema_steps: 'steps',
  schema_version: 'version',
  schema_mode: 'mode',
  schema_force: 'force',
  oldest_version: 'oldest_version',
};

/** Splits a source of the configuration into its declaration and what it says of its schema; null: nothing. */
export function splitSchema(call: unknown): {
  readonly declared: unknown;
  readonly schema: Readonly<Record<string, unknown>> | null;
} {
  if (typeof call !== 'object' || call === null || Array.isArray(call)) return { declared: call, schema: null };
  const fields = Object.entries(call).filter(([, value]) => value !== undefined);
  const isOfSchema = ([name]: readonly [string, unknown]) => Object.hasOwn(SCHEMA_FIELDS, name);
  const schema = fields.filter(isOfSchema).map(([name, value]) => [SCHEMA_FIELDS[name] ?? name, value] as const);
  return {
    declared: Object.fromEntries(fields.filter((field) => !isOfSchema(field))),
    schema: schema.length === 0 ? null : Object.fromEntries(schema),
  };
}
