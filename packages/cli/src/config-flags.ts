import { type ConfigSources, type LoadedConfig, loadConfig } from '@tidemark/server/config/load-config';
import type { Flags } from '@tidemark/server/config/read-flags';
import { SETTINGS, type Setting } from '@tidemark/server/config/settings';
import { type Command, Option } from 'commander';
import type { Cli } from './cli.ts';

/** Adds an option for every setting that may be a flag, and `--config`. */
export function withConfigFlags(command: Command, settings: readonly Setting[] = SETTINGS): Command {
  command.option('--config <file>', 'the configuration file');
  for (const setting of settings) {
    for (const option of optionsOf(setting)) command.addOption(option);
  }
  return command;
}

/** Adds the options that commands on a data folder need. */
export function withDataFlags(command: Command): Command {
  return withConfigFlags(
    command,
    SETTINGS.filter(({ name }) => name === 'data'),
  );
}

/** Loads the configuration from the flags of this command, the environment and the file. */
export function configOf(
  command: Command,
  { env, folder }: Cli,
  terms: Pick<ConfigSources, 'readsConnectors'> = {},
): LoadedConfig {
  const { config: file } = command.opts<{ readonly config?: string }>();
  return loadConfig({ env, folder, flags: flagsOf(command), ...(file === undefined ? {} : { file }), ...terms });
}

function flagsOf(command: Command): Flags {
  const values = command.opts<Record<string, unknown>>();
  const flags = new Map<string, string>();
  for (const setting of SETTINGS) {
    for (const option of optionsOf(setting)) {
      const value = values[option.attributeName()];
      if (value !== undefined) flags.set(setting.name, String(value));
    }
  }
  return flags;
}

function optionsOf({ flag, kind, name, description, default: value }: Setting): readonly Option[] {
  if (flag === null) return [];
  const group = name.startsWith('limits.') ? 'Limits:' : 'Settings:';
  const help = `${sentence(description)}${value === null ? '' : ` (${JSON.stringify(value)})`}`;
  if (kind !== 'boolean')
    return [new Option(`${flag} <${kind === 'integer' ? 'number' : 'text'}>`, help).helpGroup(group)];
  return [
    new Option(flag, help).helpGroup(group),
    new Option(flag.replace('--', '--no-'), `the opposite of ${flag}`).helpGroup(group),
  ];
}

/** Writes a description as commander writes its own: no capital, no full stop. */
function sentence(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, '');
}
