import {
  pointer,
  Refusal,
  SCHEMA_STEPS_BYTES_MAX,
  SCHEMA_VERSIONS_MAX,
  type SourceSchema,
  type Step,
  utf8Bytes,
} from '@tidemark/protocol';
import { quoted } from '../admission/admit-name.ts';
import { admitFields } from '../entries/admit-fields.ts';
import { admitSchema } from './admit-schema.ts';
import { admitSteps } from './admit-steps.ts';
import { SCHEMA_MODES, type SchemaMode, type StoredSchema, versionOf } from './stored-schema.ts';

/** What a call changes about the schema of a source. What is absent stays. */
export interface SchemaChangeCall {
  readonly schema?: SourceSchema;
  /** The steps from the present version to the new one. */
  readonly steps: readonly Step[];
  /** The number of the new version. Absent: the next one. */
  readonly version?: number;
  readonly mode?: SchemaMode;
  readonly oldestVersion?: number;
  /** True: the new schema may break apps in use. */
  readonly force: boolean;
  /** True: the configuration says it at each start, so the steps count only if they have not led to the schema yet. */
  readonly isDeclared?: boolean;
}

const FIELDS = ['schema', 'steps', 'version', 'mode', 'oldest_version', 'force'];

/** Checks a call that sets a schema. */
export function admitSchemaChange(call: unknown): SchemaChangeCall {
  const fields = new Map(admitFields(call, []));
  for (const name of fields.keys()) if (!FIELDS.includes(name)) throw unknownField(name);
  const [schema, steps, mode, oldest] = ['schema', 'steps', 'mode', 'oldest_version'].map((name) => fields.get(name));
  if (steps !== undefined && schema === undefined) throw notAllowed('need a "schema" that they lead to', 'steps');
  const version = fields.get('version');
  if (version !== undefined && schema === undefined) throw notAllowed('needs the "schema" of that version', 'version');
  return {
    ...(schema === undefined ? {} : { schema: admitSchema(schema) }),
    steps: steps === undefined ? [] : admitSteps(steps),
    ...(mode === undefined ? {} : { mode: admitMode(mode) }),
    ...(version === undefined ? {} : { version: admitVersion(version, 'version') }),
    ...(oldest === undefined ? {} : { oldestVersion: admitVersion(oldest, 'oldest_version') }),
    force: fields.has('force') && admitForce(fields.get('force')),
  };
}

/** Refuses what does not fit the versions that there are. */
export function requireFitting(stored: StoredSchema): void {
  const version = versionOf(stored);
  if (stored.oldestVersion > version) {
    throw notAllowed(`must not be greater than ${version}, the present version`, 'oldest_version');
  }
  if (version > SCHEMA_VERSIONS_MAX)
    throw tooMuch(`${version} versions are more than the ${SCHEMA_VERSIONS_MAX} allowed`);
  const bytes = utf8Bytes(JSON.stringify(stored.steps));
  if (bytes <= SCHEMA_STEPS_BYTES_MAX) return;
  throw tooMuch(
    `the steps of all versions have ${bytes} bytes, which are more than the ${SCHEMA_STEPS_BYTES_MAX} allowed`,
  );
}

export function notAllowed(detail: string, field: string): Refusal {
  return new Refusal('invalid_value', `${field} ${detail}`, [{ pointer: pointer(field), detail }]);
}

function admitMode(value: unknown): SchemaMode {
  const mode = SCHEMA_MODES.find((one) => one === value);
  if (mode === undefined) throw notAllowed(`must be one of ${SCHEMA_MODES.join(', ')}`, 'mode');
  return mode;
}

function admitVersion(value: unknown, field: string): number {
  const isAllowed = Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= SCHEMA_VERSIONS_MAX;
  if (isAllowed) return value as number;
  throw notAllowed(`must be a whole number from 1 to ${SCHEMA_VERSIONS_MAX}`, field);
}

function admitForce(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw notAllowed('must be true or false', 'force');
}

function unknownField(name: string): Refusal {
  const detail = `is not a part of the call; there are ${FIELDS.join(', ')}`;
  return new Refusal('invalid_request', `${quoted(name)} ${detail}`, [{ pointer: pointer(name), detail }]);
}

function tooMuch(detail: string): Refusal {
  return new Refusal('limit_exceeded', detail, [{ pointer: pointer('steps'), detail }]);
}
