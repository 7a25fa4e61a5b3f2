import { readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Finding, hasStoredFiles, type Store } from '@tidemark/core';
import { groupOf } from '@tidemark/core/verify';
import { openFilesBeside } from '@tidemark/server/backups/backup-files';
import { verifyFiles } from '@tidemark/server/backups/verify-files';
import type { Config } from '@tidemark/server/config/config';
import { openFilesOf } from '@tidemark/server/files/file-place';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { configOf, withDataFlags } from '../config-flags.ts';
import { counted } from '../counted.ts';
import { withExamples } from '../examples.ts';
import { MARK_FILE, markOf, requireDataFolder } from '../local/data-folder.ts';
import { collect, findDamage } from '../local/find-damage.ts';
import { openNamedFiles } from '../local/settle-files.ts';
import { withStore } from '../local/with-store.ts';

interface VerifyOptions {
  /** False: files are not read. */
  readonly files?: string | false;
}

export function addVerify(program: Command, cli: Cli): void {
  const command = withDataFlags(program.command('verify'))
    .description('Check a data folder or a backup for damage, by recomputing indexes, sizes and checksums')
    .option('--files <folder>', 'the folder with the files of a backup, if it is not beside it')
    .option('--no-files', 'do not read the files of objects')
    .action(async (options: VerifyOptions, self: Command) => verify(cli, self, options));
  withExamples(command, 'tidemark verify', 'tidemark verify --data /backups/monday');
}

async function verify(cli: Cli, command: Command, { files }: VerifyOptions): Promise<void> {
  const { config } = configOf(command, cli);
  const where = config.store === 'embedded' ? config.dataFolder : config.store;
  const elsewhere = typeof files === 'string' ? resolve(cli.folder, files) : null;
  const findings = await findingsOf(config, (isBackup) =>
    files === false ? Promise.resolve([]) : findDamagedFiles(config, isBackup ? { elsewhere } : null),
  );
  const print = cli.printer(command);
  if (print.isJson) print.json({ data: where, findings: findings.map(shown) });
  else print.table(findings.map(rowOf), ['source', 'user', 'partition', 'problem', 'detail']);
  if (findings.length > 0) throw new CliFailure(`${where} is damaged in ${counted(findings.length, 'place')}`);
  if (!print.isJson) cli.terminal.say(`${where} is undamaged.`);
}

/** Reads the data, and the files if nothing is wrong with the data. */
function findingsOf(
  config: Config,
  lookAtFiles: (isBackup: boolean) => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  const isBackup = config.store === 'embedded' && markOf(config.dataFolder)?.state === 'backup';
  const look = async () => {
    const findings = await findDamage(config, config.dataFolder);
    return findings.length > 0 ? findings : lookAtFiles(isBackup);
  };
  return config.store === 'embedded' ? keepingMark(config.dataFolder, look) : look();
}

/** Reads the files that a store or a backup refers to. */
function findDamagedFiles(
  config: Config,
  backup: { readonly elsewhere: string | null } | null,
): Promise<readonly Finding[]> {
  return withStore(config, config.dataFolder, async (store) => {
    if (!(await hasStoredFiles(store))) return [];
    const engine = backup === null ? await openFilesOf(config, store) : await openFilesOfBackup(config, store, backup);
    return collect(verifyFiles(store, engine));
  });
}

async function openFilesOfBackup(config: Config, store: Store, { elsewhere }: { readonly elsewhere: string | null }) {
  if (elsewhere !== null) return openNamedFiles(elsewhere);
  return (await openFilesBeside(config.dataFolder)) ?? (config.files.s3 === null ? null : openFilesOf(config, store));
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
