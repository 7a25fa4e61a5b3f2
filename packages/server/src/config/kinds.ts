import { URL_UNITS_MAX } from '@tidemark/protocol';
import { Type } from '@tidemark/protocol/typebox';

/** Metadata of a setting besides its type. It is part of the schema, the only definition of a setting. */
export interface SettingDescription {
  /** A sentence for the documentation and for `--help`. */
  readonly description: string;
  /** Completes "the setting …" when a value is invalid. */
  readonly rule: string;
  readonly default: unknown;
  /** True if the setting is never shown, is no flag, and can be read from the file named by `TIDEMARK_…_FILE`. */
  readonly secret?: true;
  /** True if the setting is too large for a variable or a flag. */
  readonly fileOnly?: true;
  /** True if the setting is a path, which is relative to the configuration file if it comes from there. */
  readonly path?: true;
}

const TEXT_SETTING_UNITS_MAX = 4_096;
export const TEXT_RULE = `must have 1 to ${TEXT_SETTING_UNITS_MAX} characters`;

export function integer(min: number, max: number, value: number, description: string) {
  const about: SettingDescription = {
    description,
    default: value,
    rule: `must be a whole number from ${min} to ${max}`,
  };
  return Type.Integer({ minimum: min, maximum: max, ...about });
}

export function yesOrNo(value: boolean, description: string) {
  const about: SettingDescription = { description, default: value, rule: 'must be true or false' };
  return Type.Boolean({ ...about });
}

export function oneOf<const Values extends readonly string[]>(
  values: Values,
  value: Values[number],
  description: string,
) {
  const about: SettingDescription = { description, default: value, rule: `must be one of ${values.join(', ')}` };
  return Type.Enum([...values] as Values[number][], { ...about });
}

export function text(about: SettingDescription, isAllowed: (value: string) => boolean = () => true) {
  return Type.Refine(Type.String({ minLength: 1, maxLength: TEXT_SETTING_UNITS_MAX, ...about }), isAllowed);
}

/** The value is null if it is not set. */
export function optionalText(about: Omit<SettingDescription, 'default'>, isAllowed?: (value: string) => boolean) {
  const full = { ...about, default: null };
  return Type.Union([text(full, isAllowed), Type.Null()], full);
}

export function isPlainUrl(value: string): boolean {
  if (value.length > URL_UNITS_MAX || !URL.canParse(value)) return false;
  const url = new URL(value);
  const isHttp = url.protocol === 'http:' || url.protocol === 'https:';
  return isHttp && url.username === '' && url.password === '' && url.hash === '';
}

/** True if the setting is a URL of HTTPS. */
export function isHttpsUrl(value: string | null): boolean {
  return value !== null && URL.canParse(value) && new URL(value).protocol === 'https:';
}

export const URL_RULE = 'must be an absolute http or https URL without login, password or fragment';
