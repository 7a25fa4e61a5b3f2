import { closeSync, existsSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { didYouMean, JsonProblem, parseCommentedJson } from '@tidemark/protocol';
import type { SettingProblem } from './config-problem.ts';
import { isOpenToOthers, OPEN_TO_OTHERS } from './read-secret-file.ts';
import type { SettingsRead, SettingValue } from './setting-value.ts';
import { SETTINGS } from './settings.ts';

/** The default file, in the working folder. */
export const CONFIG_FILE = 'tidemark.config.json';
const FILE_BYTES_MAX = 10_000_000;

/** The file, and what named it. */
export interface ConfigFile {
  readonly path: string;
  /** `--config` or `TIDEMARK_CONFIG`; null for the default file, which need not exist. */
  readonly namedBy: string | null;
  readonly folder: string;
}

interface ConfigPath {
  readonly file: string;
  /** The shortest form of the path, for messages. */
  readonly shown: string;
}

export function readConfigFile({ path, namedBy, folder }: ConfigFile): SettingsRead {
  const file = resolve(folder, path);
  if (namedBy === null && !existsSync(file)) return NOTHING;
  const at = { file, shown: relative(folder, file) || path };
  const opened = open(at, namedBy);
  if ('problem' in opened) return { ...NOTHING, problems: [opened.problem] };
  const reading = readMembers(opened.content, at);
  const secret = reading.given.find(({ setting }) => setting.secret);
  if (secret === undefined || !isOpenToOthers(opened.mode)) return reading;
  const detail = `${at.shown} holds ${secret.setting.name} and ${OPEN_TO_OTHERS}; run chmod o-rwx on it`;
  return { ...reading, problems: [...reading.problems, problem(at, secret.setting.name, detail)] };
}

const NOTHING: SettingsRead = { given: [], problems: [], warnings: [] };

function open(at: ConfigPath, namedBy: string | null): { content: object; mode: number } | { problem: SettingProblem } {
  const said = namedBy === null ? at.shown : `${at.shown}, named by ${namedBy},`;
  try {
    const { text, mode } = read(at.file);
    const content = parseCommentedJson(text);
    if (isGroup(content)) return { content, mode };
    return { problem: problem(at, null, `${said} must hold an object of settings`) };
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const reason = error instanceof JsonProblem ? error.message : `cannot be read (${code})`;
    return { problem: problem(at, null, `${said} ${reason}`) };
  }
}

function read(file: string): { readonly text: string; readonly mode: number } {
  const handle = openSync(file, 'r');
  try {
    const { mode, size } = fstatSync(handle);
    if (size > FILE_BYTES_MAX) throw Object.assign(new Error('too large'), { code: `over ${FILE_BYTES_MAX} bytes` });
    return { text: readFileSync(handle, 'utf8'), mode };
  } finally {
    closeSync(handle);
  }
}

/** Walks through the groups of the file and finds the setting of each member. */
function readMembers(content: object, at: ConfigPath, path: readonly string[] = []): SettingsRead {
  const readings = Object.entries(content).map(([key, value]) => readMember([...path, key], value, at));
  return {
    given: readings.flatMap(({ given }) => given),
    problems: readings.flatMap(({ problems }) => problems),
    warnings: [],
  };
}

function readMember(path: readonly string[], value: unknown, at: ConfigPath): SettingsRead {
  const name = path.join('.');
  // Only editors use it, to find the schema.
  if (name === '$schema' && path.length === 1) return NOTHING;
  const setting = path.some((part) => part.includes('.')) ? undefined : SETTINGS.find((one) => one.name === name);
  if (setting !== undefined) {
    // Null means unset, like an empty variable.
    if (value === null) return NOTHING;
    const origin = { kind: 'file', name: at.shown } as const;
    const given: SettingValue = {
      setting,
      value,
      origin,
      subject: `${name} in ${at.shown}`,
      folder: dirname(at.file),
    };
    return { ...NOTHING, given: [given] };
  }
  const isKnownGroup = SETTINGS.some((one) => one.name.startsWith(`${name}.`));
  if (isKnownGroup && isGroup(value)) return readMembers(value, at, path);
  const detail = isKnownGroup ? `${name} in ${at.shown} must be an object of settings` : unknownKey(path, at);
  return { ...NOTHING, problems: [problem(at, null, detail)] };
}

function unknownKey(path: readonly string[], { shown }: ConfigPath): string {
  const name = path.join('.');
  const names = new Set(SETTINGS.flatMap((setting) => [setting.name, setting.name.replace(/\..*/, '')]));
  const meant = didYouMean(name, names);
  const guess = meant === null ? '' : `; did you mean ${meant}?`;
  return `${JSON.stringify(name)} in ${shown} is not a setting${guess}`;
}

function isGroup(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function problem({ shown }: ConfigPath, setting: string | null, detail: string): SettingProblem {
  return { setting, origin: shown, detail };
}
