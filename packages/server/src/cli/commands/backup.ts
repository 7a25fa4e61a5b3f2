import { mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { configOf, withDataFlags } from '../config-flags.ts';
import { withExamples } from '../examples.ts';
import { entriesOf, requireDataFolder, requireEmbedded } from '../local/data-folder.ts';
import { withStore } from '../local/with-store.ts';

export function addBackup(program: Command, cli: Cli): void {
  const command = withDataFlags(program.command('backup'))
    .description('Copy a data folder, also while a server works on it')
    .argument('<folder>', 'where to; it must not exist or be empty')
    .action(async (target: string, _options: object, self: Command) => backup(cli, self, resolve(cli.folder, target)));
  withExamples(
    command,
    'tidemark backup /backups/monday',
    'tidemark backup --data /var/lib/tidemark "/backups/$(date +%F)"',
  );
}

async function backup(cli: Cli, command: Command, target: string): Promise<void> {
  const { config } = configOf(command, cli);
  requireEmbedded(config);
  requireDataFolder(config.dataFolder);
  if (entriesOf(target).length > 0) throw new CliFailure(`${target} is not empty; a backup needs a folder of its own`);
  // It holds all there is, hashes of passwords included: for its owner only.
  mkdirSync(target, { recursive: true, mode: 0o700 });
  await withStore(config, config.dataFolder, (store) => store.backup(target));
  const bytes = entriesOf(target).reduce((sum, name) => sum + statSync(join(target, name)).size, 0);
  const print = cli.printer(command);
  if (print.isJson) return print.json({ data: config.dataFolder, backup: target, bytes });
  cli.terminal.say(`Copied ${config.dataFolder} (${bytes} bytes).`);
  cli.terminal.out(`${target}\n`);
}
