import {
  type JsonValue,
  parseJson,
  type SchemaChanges,
  type SchemaDiff,
  type SchemaProposal,
} from '@tidemark/protocol';

/** A schema and its steps as a person writes them. */
export interface SchemaTexts {
  readonly schema: string;
  /** Empty: there are none. */
  readonly steps: string;
}

export interface ReadSchema {
  /** Null: at least one of the texts is not what it should be. */
  readonly changes: SchemaChanges | null;
  /** What is wrong, by the text. */
  readonly problems: Partial<SchemaTexts>;
}

/** Reads the texts. The server checks what they mean. */
export function readSchema(texts: SchemaTexts): ReadSchema {
  const schema = readJson(texts.schema);
  const steps = readJson(texts.steps.trim() === '' ? '[]' : texts.steps);
  const problems = {
    ...('problem' in schema ? { schema: schema.problem } : {}),
    ...('value' in schema && !isObject(schema.value)
      ? { schema: 'It must be an object, such as {"properties": {"title": {"type": "string"}}}.' }
      : {}),
    ...('problem' in steps ? { steps: steps.problem } : {}),
    ...('value' in steps && !Array.isArray(steps.value)
      ? { steps: 'It must be a list, such as [{"step": "rename", "attribute": "title", "to": "name"}].' }
      : {}),
  };
  if (!('value' in schema && 'value' in steps) || Object.keys(problems).length > 0) return { changes: null, problems };
  const list = steps.value as readonly JsonValue[];
  const changes = { schema: schema.value, ...(list.length === 0 ? {} : { steps: list }) };
  return { changes: changes as unknown as SchemaChanges, problems };
}

function readJson(text: string): { readonly value: JsonValue } | { readonly problem: string } {
  try {
    return { value: parseJson(text) as JsonValue };
  } catch (error) {
    return { problem: `It is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function isObject(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** How many devices of the last 30 days a breaking schema concerns: those that have not said their version may be of any. */
export function devicesOf({ devices, devices_without_version }: SchemaDiff): number {
  return Object.values(devices).reduce((sum, count) => sum + count, devices_without_version);
}

/** How many devices have said a version that is older than this one. */
export function devicesBefore({ devices }: SchemaDiff, version: number): number {
  return Object.entries(devices).reduce((sum, [of, count]) => sum + (Number(of) < version ? count : 0), 0);
}

/** A statement of a proposed schema, with how many values support it. */
export interface SupportedStatement {
  readonly pointer: string;
  readonly statement: string;
  readonly support: number;
}

export function statementsOf({ schema, support }: SchemaProposal): readonly SupportedStatement[] {
  return Object.entries(support).map(([pointer, count]) => ({
    pointer,
    statement: JSON.stringify(valueAt(schema, pointer)) ?? '',
    support: count,
  }));
}

function valueAt(root: unknown, pointer: string): unknown {
  const names = pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  return names.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Readonly<Record<string, unknown>>)[name]
        : undefined,
    root,
  );
}
