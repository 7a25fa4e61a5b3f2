import type { SettingProblem } from './config-problem.ts';
import type { Setting } from './settings.ts';

/** Where a value comes from; the later in this list, the stronger. */
export type SettingOriginKind = 'default' | 'file' | 'environment' | 'secret_file' | 'flag';

export interface SettingOrigin {
  readonly kind: SettingOriginKind;
  /** For people: `--port`, `TIDEMARK_PORT`, `tidemark.config.json`, `default`. */
  readonly name: string;
}

/** A value that somebody gave, not looked at yet. */
export interface SettingValue {
  readonly setting: Setting;
  readonly value: unknown;
  readonly origin: SettingOrigin;
  /** How a sentence about it begins: `TIDEMARK_PORT`, `port in tidemark.config.json`. */
  readonly subject: string;
  /** What a relative path is relative to. */
  readonly folder: string;
}

/** What one place says, and what is wrong there beside the values. */
export interface SettingsRead {
  readonly given: readonly SettingValue[];
  readonly problems: readonly SettingProblem[];
  readonly warnings: readonly SettingProblem[];
}

/** The text of a variable or a flag as a value; what does not fit stays text, and is refused as such. */
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
