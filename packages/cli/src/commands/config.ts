import type { SettingInForce } from '@tidemark/protocol';
import { ConfigProblem } from '@tidemark/server/config/config-problem';
import type { LoadedConfig } from '@tidemark/server/config/load-config';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure, EXIT } from '../cli-failure.ts';
import { configOf, withConfigFlags } from '../config-flags.ts';
import { commandGroup, examples } from '../examples.ts';
import type { Printer } from '../printer.ts';

export function addConfig(program: Command, cli: Cli): void {
  const config = commandGroup(
    program,
    'config',
    'Show and check the configuration',
    'tidemark config check',
    'tidemark config print',
    'TIDEMARK_PORT=8080 tidemark config print --json',
  );
  withConfigFlags(
    config
      .command('check')
      .description('Check the configuration')
      .addHelpText('before', examples('tidemark config check', 'tidemark config check --config /etc/tidemark.json')),
  ).action(async (_options: object, self: Command) => check(cli, self));
  withConfigFlags(
    config
      .command('print')
      .description('Show every setting with its value and its origin')
      .addHelpText('before', examples('tidemark config print', 'TIDEMARK_PORT=8080 tidemark config print --json')),
  ).action(async (_options: object, self: Command) => {
    const { config: loaded } = configOf(self, cli);
    printSettings(cli.printer(self), loaded.settingsInForce);
  });
}

async function check(cli: Cli, command: Command): Promise<void> {
  const print = cli.printer(command);
  const found = attempt(() => configOf(command, cli));
  const problems = found instanceof ConfigProblem ? found.problems : [];
  const warnings = found instanceof ConfigProblem ? [] : found.warnings;
  if (print.isJson) print.json({ ok: problems.length === 0, problems, warnings });
  else for (const { detail } of warnings) cli.terminal.say(`warning: ${detail}`);
  if (found instanceof ConfigProblem) throw new CliFailure(found.message, { exitCode: EXIT.config });
  if (!print.isJson) cli.terminal.say('The configuration is valid.');
}

function attempt(load: () => LoadedConfig): LoadedConfig | ConfigProblem {
  try {
    return load();
  } catch (error) {
    if (error instanceof ConfigProblem) return error;
    throw error;
  }
}

/** Prints settings with their values and origins. */
export function printSettings(print: Printer, settings: readonly SettingInForce[]): void {
  const rows = print.isJson ? settings : settings.map((row) => ({ ...row, value: shown(row.value) }));
  print.table(rows, ['name', 'value', 'origin']);
}

function shown(value: unknown): unknown {
  return Array.isArray(value) && value.length === 0 ? '[]' : value;
}
