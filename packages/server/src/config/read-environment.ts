import { didYouMean } from '@tidemark/protocol';
import type { SettingProblem } from './config-problem.ts';
import { readSecretFile } from './read-secret-file.ts';
import { type SettingsRead, type SettingValue, valueOfText } from './setting-value.ts';
import { ENV_PREFIX, FILE_SUFFIX, SETTINGS, type Setting } from './settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Our variables that are not settings: the path of the configuration, and variables of the command line. */
const OTHER_NAMES = [
  'TIDEMARK_CONFIG',
  'TIDEMARK_URL',
  'TIDEMARK_TOKEN',
  'TIDEMARK_PASSWORD',
  'TIDEMARK_NEW_PASSWORD',
] as const;

/** Variables that Kubernetes sets in every container for a service named tidemark. */
const SERVICE_LINKS = /^TIDEMARK_(?:SERVICE_(?:HOST|PORT)(?:_|$)|PORT_[0-9]+_(?:TCP|UDP))/;

/**
 * Reads the settings from the environment. An empty variable counts as unset, as in `TIDEMARK_PORT= npm start` or
 * empty lines of env files. `others` are further variables that are known.
 */
export function readEnvironment(env: Environment, folder: string, others: readonly string[] = []): SettingsRead {
  const readings = SETTINGS.map((setting) => readVariable(setting, env, folder));
  const unknownNames = unknownVariables(env, others);
  return {
    given: readings.flatMap(({ given }) => given),
    problems: [
      ...readings.flatMap(({ problems }) => problems),
      ...unknownNames.flatMap(({ problem }) => problem ?? []),
    ],
    warnings: unknownNames.flatMap(({ warning }) => warning ?? []),
  };
}

function readVariable(setting: Setting, env: Environment, folder: string): Omit<SettingsRead, 'warnings'> {
  const { env: name, secret } = setting;
  if (name === null) return NOTHING;
  const text = env[name] || null;
  const path = secret ? env[name + FILE_SUFFIX] || null : null;
  if (path !== null && text !== null) return { given: [], problems: [givenTwice(setting.name, name)] };
  if (path !== null) return readSecretFile(setting, { variable: name + FILE_SUFFIX, path, folder });
  if (text === null) return NOTHING;
  const origin = { kind: 'environment', name } as const;
  const given: SettingValue = { setting, value: valueOfText(setting, text), origin, subject: name, folder };
  return { given: [given], problems: [] };
}

const NOTHING = { given: [], problems: [] } as const;

function givenTwice(setting: string, name: string): SettingProblem {
  return { setting, origin: name, detail: `${name} and ${name}${FILE_SUFFIX} are both set; leave one of them out` };
}

interface UnknownVariable {
  readonly problem?: SettingProblem;
  readonly warning?: SettingProblem;
}

/** A misspelt setting must not be ignored, but a variable that only shares our prefix may belong to another program. */
function unknownVariables(env: Environment, others: readonly string[]): readonly UnknownVariable[] {
  const known = new Set([...knownNames(), ...others]);
  const names = Object.keys(env).filter((name) => name.startsWith(ENV_PREFIX) && !known.has(name) && env[name]);
  return names
    .filter((name) => !SERVICE_LINKS.test(name))
    .sort()
    .map((name) => {
      const meant = didYouMean(name.slice(ENV_PREFIX.length), [...known].map(withoutPrefix));
      const about = { setting: null, origin: name };
      if (meant === null)
        return { warning: { ...about, detail: `${name} is not a setting of Tidemark, and is ignored` } };
      return { problem: { ...about, detail: `${name} is not a setting; did you mean ${ENV_PREFIX}${meant}?` } };
    });
}

function withoutPrefix(name: string): string {
  return name.slice(ENV_PREFIX.length);
}

function knownNames(): ReadonlySet<string> {
  const settings = SETTINGS.flatMap(({ env, secret }) =>
    env === null ? [] : secret ? [env, env + FILE_SUFFIX] : [env],
  );
  return new Set([...OTHER_NAMES, ...settings]);
}
