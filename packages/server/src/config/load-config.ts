import { resolve } from 'node:path';
import { adapterProblems } from './adapter-problems.ts';
import { checkValue } from './check-value.ts';
import { type Config, configOf } from './config.ts';
import { ConfigProblem, type SettingProblem } from './config-problem.ts';
import { configWarnings } from './config-warnings.ts';
import { fileSettingProblems } from './file-settings.ts';
import { type ConnectorConfig, type ConnectorPlaces, connectorVariables, readConnectors } from './read-connectors.ts';
import { type Environment, readEnvironment } from './read-environment.ts';
import { CONFIG_FILE, readConfigFile } from './read-file.ts';
import { type Flags, readFlags } from './read-flags.ts';
import type { Settings } from './schema.ts';
import type { SettingsRead, SettingValue, SettledValue } from './setting-value.ts';
import { SETTINGS, type Setting } from './settings.ts';
import { shownSettings } from './shown-settings.ts';

/** The sources of a configuration. */
export interface ConfigSources {
  readonly env: Environment;
  readonly flags?: Flags;
  /** The file named by `--config`. */
  readonly file?: string;
  /** The working folder. */
  readonly folder?: string;
  /** Null: the system has no user ids. */
  readonly userId?: number | null;
  /** True: the addresses and mappings of connectors are read, too. Only what runs or checks them needs that. */
  readonly readsConnectors?: boolean;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Every setting with its value and origin. */
  readonly values: readonly SettledValue[];
  readonly warnings: readonly SettingProblem[];
}

/**
 * Loads the configuration. Flags take precedence over the environment, the environment over the file, the file over
 * the defaults.
 */
export function loadConfig(sources: ConfigSources): LoadedConfig {
  const { env, flags = new Map(), folder = process.cwd(), userId = process.getuid?.() ?? null } = sources;
  const file = readConfigFile({ ...fileNamed(sources), folder });
  const environment = readEnvironment(env, folder, connectorVariables(givenConnectors(file)?.value));
  const given = [...file.given, ...environment.given, ...readFlags(flags, folder)];
  // Overridden values are checked, too: they would come into force when the stronger value is removed.
  const problems = [...file.problems, ...environment.problems, ...given.flatMap(checkValue)];
  if (problems.length > 0) throw new ConfigProblem(problems);
  const strongest = new Map(given.map((one) => [one.setting.name, one]));
  const values = SETTINGS.map((setting) => settle(setting, strongest.get(setting.name), folder));
  const settings = nested(values);
  const conflicts = [...settingConflicts(settings), ...adapterProblems(settings)];
  if (conflicts.length > 0) throw new ConfigProblem(conflicts);
  const connectors = connectorsOf(sources, settings, {
    env,
    folder,
    fileFolder: givenConnectors(file)?.folder ?? folder,
  });
  const warnings = [...environment.warnings, ...configWarnings(settings, userId)];
  const settingsInForce = shownSettings(values, warnings);
  return { config: { ...configOf(settings), connectors, settingsInForce }, values, warnings };
}

/** Only the file has them. */
function givenConnectors({ given }: SettingsRead): SettingValue | undefined {
  return given.find(({ setting }) => setting.name === 'connectors');
}

function connectorsOf(
  { readsConnectors = false }: ConfigSources,
  settings: Settings,
  places: ConnectorPlaces,
): readonly ConnectorConfig[] {
  if (!readsConnectors) return [];
  const { connectors, problems } = readConnectors(settings.connectors, places);
  if (problems.length > 0) throw new ConfigProblem(problems);
  return connectors;
}

function fileNamed({ env, file }: ConfigSources): { readonly path: string; readonly namedBy: string | null } {
  if (file !== undefined) return { path: file, namedBy: '--config' };
  if (env.TIDEMARK_CONFIG) return { path: env.TIDEMARK_CONFIG, namedBy: 'TIDEMARK_CONFIG' };
  return { path: CONFIG_FILE, namedBy: null };
}

function settle(setting: Setting, given: SettingValue | undefined, folder: string): SettledValue {
  const { value, origin } = given ?? { value: setting.default, origin: { kind: 'default', name: 'default' } as const };
  const isRelative = setting.path === true && typeof value === 'string';
  return { setting, value: isRelative ? resolve(given?.folder ?? folder, value) : value, origin };
}

/** Returns the values in the structure of the file. Each was checked against its part of the schema. */
function nested(values: readonly SettledValue[]): Settings {
  const root: Record<string, unknown> = {};
  for (const { setting, value } of values) {
    const [first = '', second] = setting.name.split('.');
    if (second === undefined) root[first] = value;
    else root[first] = { ...(root[first] as object | undefined), [second]: value };
  }
  return root as Settings;
}

/** Returns problems between settings that are valid by themselves. */
function settingConflicts({
  ping,
  admin_sign_in: signIn,
  issuers,
  backup,
  store,
  files,
}: Settings): readonly SettingProblem[] {
  return [
    ...backupProblems(backup, store),
    ...fileSettingProblems(files),
    ...signInProblems(signIn, issuers),
    ...together(ping, ['apns_key', 'apns_key_id', 'apns_team_id', 'apns_topics']),
    ...(ping.webhook_url === null ? [] : together(ping, ['webhook_url', 'webhook_secret'])),
  ];
}

function backupProblems({ schedule, command }: Settings['backup'], store: string): readonly SettingProblem[] {
  const problem = (name: string, detail: string) => ({
    setting: `backup.${name}`,
    origin: `backup.${name}`,
    detail: `backup.${name} ${detail}`,
  });
  return [
    ...(schedule !== null && store !== 'embedded'
      ? [problem('schedule', 'is for the embedded store; Valkey and Redis are backed up with their own tools')]
      : []),
    ...(schedule === null && command !== null ? [problem('schedule', 'must be set, because backup.command is')] : []),
  ];
}

function signInProblems(
  { issuer, client_id: clientId, roles }: Settings['admin_sign_in'],
  issuers: Settings['issuers'],
): readonly SettingProblem[] {
  if (issuer === null && clientId === null) return [];
  const problem = (name: string, detail: string) => {
    const setting = `admin_sign_in.${name}`;
    return { setting, origin: setting, detail: `${setting} ${detail}` };
  };
  if (issuer === null) return [problem('issuer', 'must be set, because admin_sign_in.client_id is')];
  return [
    ...(issuers.some(({ name }) => name === issuer)
      ? []
      : [problem('issuer', 'must be the name of one of the issuers')]),
    ...(clientId === null ? [problem('client_id', 'must be set, because admin_sign_in.issuer is')] : []),
    ...(roles.length === 0 ? [problem('roles', 'must have a role, because admin_sign_in.issuer is set')] : []),
  ];
}

function together(ping: Settings['ping'], names: readonly (keyof Settings['ping'])[]): readonly SettingProblem[] {
  const missing = names.filter((name) => ping[name] === null);
  if (missing.length === 0 || missing.length === names.length) return [];
  const given = names.filter((name) => !missing.includes(name));
  return missing.map((name) => ({
    setting: `ping.${name}`,
    origin: `ping.${name}`,
    detail: `ping.${name} must be set, because ping.${given[0]} is`,
  }));
}

/** Returns the configuration without the origins of its values. Throws a `ConfigProblem`. */
export function readConfig(env: Environment, flags?: Flags): Config {
  return loadConfig(flags === undefined ? { env } : { env, flags }).config;
}
