import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Finding, inspectRecord, type Store } from '@tidemark/core';
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { configOf, withDataFlags } from '../config-flags.ts';
import { withExamples } from '../examples.ts';
import { MARK_FILE, requireDataFolder } from '../local/data-folder.ts';
import { withStore } from '../local/with-store.ts';

export function addVerify(program: Command, cli: Cli): void {
  const command = withDataFlags(program.command('verify'))
    .description('Recompute a data folder or a backup from its records, and name every difference')
    .action(async (_options: object, self: Command) => verify(cli, self));
  withExamples(command, 'tidemark verify', 'tidemark verify --data /backups/monday');
}

async function verify(cli: Cli, command: Command): Promise<void> {
  const { config } = configOf(command, cli);
  const where = config.store === 'embedded' ? config.dataFolder : config.store;
  const findings = await findingsOf(config);
  const print = cli.printer(command);
  if (print.isJson) print.json({ data: where, findings });
  else print.table(findings.map(rowOf), ['source', 'user', 'problem', 'detail']);
  if (findings.length > 0) throw new CliFailure(`${where} is damaged in ${findings.length} places`);
  if (!print.isJson) cli.terminal.say(`${where} is sound.`);
}

function findingsOf(config: Config): Promise<readonly Finding[]> {
  const look = () => withStore(config, config.dataFolder, findingsIn);
  return config.store === 'embedded' ? keepingMark(config.dataFolder, look) : look();
}

export async function findingsIn(store: Store): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for await (const finding of store.verify(inspectRecord)) findings.push(finding);
  return findings;
}

/** Opening a backup makes it a store with a life of its own. Looking at one must not: it stays a backup. */
async function keepingMark<T>(folder: string, look: () => Promise<T>): Promise<T> {
  if (requireDataFolder(folder).state !== 'backup') return look();
  const file = join(folder, MARK_FILE);
  const mark = readFileSync(file);
  try {
    return await look();
  } finally {
    writeFileSync(`${file}.${process.pid}`, mark, { mode: 0o600 });
    renameSync(`${file}.${process.pid}`, file);
  }
}

function rowOf({ partition, problem, detail }: Finding): object {
  return { source: partition?.source ?? null, user: partition?.user ?? null, problem, detail };
}
