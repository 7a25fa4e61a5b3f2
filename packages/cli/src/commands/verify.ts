import { readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding } from '@tidemark/core';
import { groupOf } from '@tidemark/core/verify';
import type { Config } from '@tidemark/server/config/config';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { configOf, withDataFlags } from '../config-flags.ts';
import { withExamples } from '../examples.ts';
import { MARK_FILE, requireDataFolder } from '../local/data-folder.ts';
import { findDamage } from '../local/find-damage.ts';

export function addVerify(program: Command, cli: Cli): void {
  const command = withDataFlags(program.command('verify'))
    .description('Check a data folder or a backup for damage, by recomputing indexes, sizes and checksums')
    .action(async (_options: object, self: Command) => verify(cli, self));
  withExamples(command, 'tidemark verify', 'tidemark verify --data /backups/monday');
}

async function verify(cli: Cli, command: Command): Promise<void> {
  const { config } = configOf(command, cli);
  const where = config.store === 'embedded' ? config.dataFolder : config.store;
  const findings = await findingsOf(config);
  const print = cli.printer(command);
  if (print.isJson) print.json({ data: where, findings: findings.map(shown) });
  else print.table(findings.map(rowOf), ['source', 'user', 'partition', 'problem', 'detail']);
  if (findings.length > 0) throw new CliFailure(`${where} is damaged in ${findings.length} places`);
  if (!print.isJson) cli.terminal.say(`${where} is undamaged.`);
}

function findingsOf(config: Config): Promise<readonly Finding[]> {
  const look = () => findDamage(config, config.dataFolder);
  return config.store === 'embedded' ? keepingMark(config.dataFolder, look) : look();
}

/** Verifies a backup without giving it a new epoch: it stays a backup, of the age that its mark has. */
export async function keepingMark<T>(folder: string, look: () => Promise<T>): Promise<T> {
  if (requireDataFolder(folder).state !== 'backup') return look();
  const file = join(folder, MARK_FILE);
  const mark = readFileSync(file);
  const { atime, mtime } = statSync(file);
  try {
    return await look();
  } finally {
    writeFileSync(`${file}.${process.pid}`, mark, { mode: 0o600 });
    utimesSync(`${file}.${process.pid}`, atime, mtime);
    renameSync(`${file}.${process.pid}`, file);
  }
}

/** Shows whose data a partition is as operators know it. */
export function shown({ partition, ...rest }: Finding) {
  if (partition === null) return { partition, ...rest };
  const { source, owner } = partition;
  const name = groupOf(partition);
  const whose = { source, user: owner.kind === 'user' ? owner.login : null };
  return { partition: name === null ? whose : { ...whose, name }, ...rest };
}

export function rowOf(finding: Finding): object {
  const { partition, problem, detail } = shown(finding);
  const name = partition !== null && 'name' in partition ? partition.name : null;
  return { source: partition?.source ?? null, user: partition?.user ?? null, partition: name, problem, detail };
}
