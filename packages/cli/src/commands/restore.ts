import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { hasStoredFiles, readFilePlace, type Store, writeFilePlace } from '@tidemark/core';
import { openFilesBeside } from '@tidemark/server/backups/backup-files';
import type { Config } from '@tidemark/server/config/config';
import { openFileEngine } from '@tidemark/server/files/open-file-engine';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { configOf, withDataFlags } from '../config-flags.ts';
import { counted } from '../counted.ts';
import { withExamples } from '../examples.ts';
import { confirm } from '../input.ts';
import { markOf, requireEmbedded } from '../local/data-folder.ts';
import { findDamage } from '../local/find-damage.ts';
import { processesUsing } from '../local/folder-processes.ts';
import { giveTo } from '../local/ownership.ts';
import { exchange, isInterrupted, isOccupied, ownerOf, stage, unstage } from '../local/replace-data.ts';
import { openNamedFiles, type SettledFiles, settleFiles } from '../local/settle-files.ts';
import { withStore } from '../local/with-store.ts';

interface Restore {
  readonly backup: string;
  readonly folder: string;
  readonly isConfirmed: boolean;
  /** Where the files of the backup are. Null: beside it. */
  readonly filesFolder: string | null;
  readonly isMissingAccepted: boolean;
}

interface RestoreOptions {
  readonly yes?: boolean;
  readonly files?: string;
  readonly acceptMissing?: boolean;
}

export function addRestore(program: Command, cli: Cli): void {
  const command = withDataFlags(program.command('restore'))
    .description('Restore a backup to a data folder that no server uses; devices then start over')
    .argument('<backup>', 'a folder created by tidemark backup')
    .option('--yes', 'replace existing data without asking for confirmation')
    .option('--files <folder>', 'the folder with the files of objects, if it is not beside the backup')
    .option('--accept-missing', 'restore although files of objects are missing or damaged; they are asked for again')
    .action(async (backup: string, { yes, files, acceptMissing }: RestoreOptions, self: Command) => {
      const { config } = configOf(self, cli);
      requireEmbedded(config);
      await restore(cli, self, config, {
        backup: resolve(cli.folder, backup),
        folder: config.dataFolder,
        isConfirmed: yes === true,
        filesFolder: files === undefined ? null : resolve(cli.folder, files),
        isMissingAccepted: acceptMissing === true,
      });
    });
  withExamples(
    command,
    'tidemark restore /backups/monday',
    'tidemark restore /backups/monday --data /var/lib/tidemark --yes',
  );
}

async function restore(cli: Cli, command: Command, config: Config, request: Restore): Promise<void> {
  const { backup, folder } = request;
  requireBackup(backup);
  await requireReplaceable(cli, request);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const staging = await stage(backup, folder);
  try {
    await requireSound(config, staging, backup);
    const files = await restoreFiles(config, staging, request);
    const replaced = await exchange(folder, staging, async () => (await processesUsing(folder))?.length === 0);
    if (replaced === 'not_alone')
      throw new CliFailure(`another process has just opened ${folder}; nothing was changed`);
    tell(cli, command, request, { replaced, files });
  } finally {
    unstage(staging);
  }
}

function requireBackup(backup: string): void {
  const mark = markOf(backup);
  if (mark?.state === 'backup') return;
  if (mark === null) throw new CliFailure(`${backup} is not a backup`, { hint: 'tidemark backup makes one' });
  throw new CliFailure(`${backup} is a data folder that was opened, not a backup`, {
    hint: `make one with tidemark backup --data ${backup} <folder>`,
  });
}

async function requireReplaceable(cli: Cli, { folder, isConfirmed }: Restore): Promise<void> {
  if (!isOccupied(folder) && !isInterrupted(folder)) return;
  if (markOf(folder) === null && !isInterrupted(folder)) {
    throw new CliFailure(`${folder} holds something that is not Tidemark's; choose another folder`);
  }
  const occupants = await processesUsing(folder);
  if (occupants === null) {
    throw new CliFailure(`it cannot be told whether another process uses ${folder}`, {
      hint: 'restore into a new folder instead',
    });
  }
  if (occupants.length > 0) {
    throw new CliFailure(`${folder} is open in process ${occupants.join(', ')}`, { hint: 'stop the server first' });
  }
  const warning = `The data in ${folder} will be replaced. The old data is moved to another folder, not deleted.`;
  await confirm(cli, { warning, name: folder, isConfirmed });
}

/** Verifies the prepared backup, so that a damaged one never replaces data. Opening it gives the data a new epoch. */
async function requireSound(config: Config, staging: string, backup: string): Promise<void> {
  const findings = await findDamage(config, staging);
  if (findings.length === 0) return;
  throw new CliFailure(`${backup} is damaged in ${counted(findings.length, 'place')}; nothing was changed`, {
    hint: `tidemark verify --data ${backup} names them`,
  });
}

/** Puts the files of the backup back before the data, which is as it was when one of them is missing. */
async function restoreFiles(config: Config, staging: string, request: Restore): Promise<SettledFiles | null> {
  const { backup, folder, filesFolder, isMissingAccepted } = request;
  return withStore(config, staging, async (store) => {
    if (!(await hasStoredFiles(store))) return keepUnknown(store);
    const from = filesFolder === null ? await openFilesBeside(backup) : await openNamedFiles(filesFolder);
    const to = await openFileEngine(config);
    const settled = await settleFiles({ config, store, from, to, isMissingAccepted });
    // After a restore by root the server could not remove them otherwise.
    if (config.files.s3 === null) giveTo(ownerOf(folder), to.place);
    return settled;
  });
}

/** Files that came after the backup stay for the grace period from now on, as they do beside those of a backup. */
async function keepUnknown(store: Store): Promise<null> {
  const known = await readFilePlace(store);
  if (known !== null) await writeFilePlace(store, known, Date.now());
  return null;
}

interface Restored {
  readonly replaced: string | null;
  readonly files: SettledFiles | null;
}

function tell(cli: Cli, command: Command, { backup, folder }: Restore, { replaced, files }: Restored): void {
  const print = cli.printer(command);
  if (print.isJson) {
    print.json({ data: folder, backup, files, replaced });
    return;
  }
  cli.terminal.say(`Restored ${backup}. Devices start over at their next pull.`);
  if (files !== null) {
    const inPlace = files.files - files.wrong;
    cli.terminal.say(`${inPlace} of ${files.files} files are in place, ${files.copied} of them from the backup.`);
    if (files.wrong > 0) cli.terminal.say(`The other ${files.wrong} are missing or damaged, and are asked for again.`);
  }
  if (replaced !== null) cli.terminal.say(`The old data is in ${replaced}; delete it when you no longer need it.`);
  cli.terminal.out(`${folder}\n`);
}
