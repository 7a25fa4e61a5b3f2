import type { TSchema } from '@tidemark/protocol/typebox';
import type { SettingDescription } from './kinds.ts';
import { ConfigSchema } from './schema.ts';

export type SettingKind = 'integer' | 'boolean' | 'text' | 'list';

/** One setting with all its names. */
export interface Setting extends SettingDescription {
  /** The name in the file; a dot separates a group and its member. */
  readonly name: string;
  readonly kind: SettingKind;
  readonly schema: TSchema;
  /** Null: the environment cannot set it. */
  readonly env: string | null;
  /** Null: no flag can set it, because it is a secret or too large. */
  readonly flag: string | null;
}

export const ENV_PREFIX = 'TIDEMARK_';
/** `TIDEMARK_ADMIN_PASSWORD_FILE` names the file that holds the value. */
export const FILE_SUFFIX = '_FILE';

/** All settings, in the order of the schema. */
export const SETTINGS: readonly Setting[] = settingsOf(ConfigSchema, []);

function settingsOf(schema: TSchema, path: readonly string[]): readonly Setting[] {
  if (!('properties' in schema)) return [settingOf(schema, path)];
  const members = Object.entries(schema.properties as Readonly<Record<string, TSchema>>);
  return members.flatMap(([name, member]) => settingsOf(member, [...path, name]));
}

function settingOf(schema: TSchema, path: readonly string[]): Setting {
  const { description, rule, default: value, secret, fileOnly, path: isPath } = schema as TSchema & SettingDescription;
  const words = path.join('_');
  return {
    name: path.join('.'),
    kind: kindOf(schema),
    schema,
    description,
    rule,
    default: value,
    ...(secret === undefined ? {} : { secret }),
    ...(fileOnly === undefined ? {} : { fileOnly }),
    ...(isPath === undefined ? {} : { path: isPath }),
    env: fileOnly ? null : ENV_PREFIX + words.toUpperCase(),
    flag: fileOnly || secret ? null : `--${words.replaceAll('_', '-')}`,
  };
}

function kindOf(schema: TSchema): SettingKind {
  const { type } = schema as { readonly type?: string };
  if (type === 'integer' || type === 'boolean') return type;
  return type === 'array' ? 'list' : 'text';
}
