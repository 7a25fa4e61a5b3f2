import type { SettingProblem } from './config-problem.ts';
import type { Setting } from './settings.ts';

/** The origins of a value, with increasing precedence. */
export type SettingOriginKind = 'default' | 'file' | 'environment' | 'secret_file' | 'flag';

export interface SettingOrigin {
  readonly kind: SettingOriginKind;
  /** For messages: `--port`, `TIDEMARK_PORT`, `tidemark.config.json`, `default`. */
  readonly name: string;
}

/** The value in force. */
export interface SettledValue {
  readonly setting: Setting;
  readonly value: unknown;
  readonly origin: SettingOrigin;
}

/** A given value, not checked yet. */
export interface SettingValue {
  readonly setting: Setting;
  readonly value: unknown;
  readonly origin: SettingOrigin;
  /** The subject of a message: `TIDEMARK_PORT`, `port in tidemark.config.json`. */
  readonly subject: string;
  /** The folder that relative paths refer to. */
  readonly folder: string;
}

/** The values from one origin, and its problems besides wrong values. */
export interface SettingsRead {
  readonly given: readonly SettingValue[];
  readonly problems: readonly SettingProblem[];
  readonly warnings: readonly SettingProblem[];
}

/** Converts the text of a variable or a flag. A text that does not fit is returned as it is, and refused later. */
export function valueOfText({ kind }: Setting, text: string): unknown {
  if (kind === 'integer') return /^-?[0-9]{1,15}$/.test(text) ? Number(text) : text;
  if (kind === 'boolean') return BOOLEANS.get(text.toLowerCase()) ?? text;
  return text;
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);
