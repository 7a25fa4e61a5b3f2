import type { SourceSchema, SourceVersions, Step, ValueSchema } from '@tidemark/protocol';
import type { SchemaMode, SchemaState } from '@tidemark/protocol/admin/sources';
import { typesOf } from './keywords.ts';

export type { SchemaMode, SchemaState };
export const SCHEMA_MODES: readonly SchemaMode[] = ['off', 'report', 'enforce'];

/** The schema of a source with its versions, as a part of the record of the source. */
export interface StoredSchema {
  readonly mode: SchemaMode;
  /** The schema of the present version. */
  readonly schema: SourceSchema;
  /** The steps from each version to the next one: the first list leads from version 1 to 2. */
  readonly steps: readonly (readonly Step[])[];
  /** Apps of an older version are refused. */
  readonly oldestVersion: number;
  /** True: some stored objects are still of the version before. */
  readonly converting: boolean;
  readonly setAtMs: number;
}

export function versionOf({ steps }: Pick<StoredSchema, 'steps'>): number {
  return steps.length + 1;
}

export function schemaStateOf(stored: StoredSchema): SchemaState {
  const { mode, oldestVersion, converting } = stored;
  return { mode, version: versionOf(stored), oldest_version: oldestVersion, converting };
}

/** The versions as devices get them. */
export function sourceVersionsOf(stored: StoredSchema): SourceVersions {
  const { steps, oldestVersion, converting } = stored;
  const lists = steps.map((version) => [...version]);
  return { version: versionOf(stored), steps: lists, oldest_version: oldestVersion, converting };
}

/** The steps from a version to the present one. Null: there is no such version. */
export function stepsFrom(stored: Pick<StoredSchema, 'steps'>, version: number): readonly Step[] | null {
  if (!Number.isInteger(version) || version < 1 || version > versionOf(stored)) return null;
  return stored.steps.slice(version - 1).flat();
}

/** Attributes that are ids of objects of other sources, as the schema says. */
export function referencesIn({ properties }: SourceSchema): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]) => {
      const source = referenceOf(schema);
      return source === undefined ? [] : [[name, source] as const];
    }),
  );
}

/** A list of ids refers to objects as one id does. */
function referenceOf(schema: ValueSchema): string | undefined {
  if (schema.reference !== undefined) return schema.reference;
  return schema.items !== undefined && typesOf(schema).includes('array') ? schema.items.reference : undefined;
}
