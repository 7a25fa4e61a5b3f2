import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Finding } from '@tidemark/core';
import { FileFault } from '@tidemark/files';
import { type Backup, type BackupCheck, type BackupList, Refusal } from '@tidemark/protocol';
import {
  BACKUP_DOWNLOADS_MAX,
  BACKUP_FINDINGS_MAX,
  BACKUP_RETRY_AFTER_S,
  BACKUPS_MAX,
  UNFINISHED_BACKUP_MS,
} from '../limits.ts';
import { openFolder } from '../open-engines.ts';
import { type BackupSource, backUp, openFilesBeside, removeUnneededFiles } from './backup-files.ts';
import { type BackupEntry, backupsIn, deleteBackup, readBackup } from './backup-folder.ts';
import { findDamage } from './find-damage.ts';
import { verifyFiles } from './verify-files.ts';

export interface BackupsParts extends BackupSource {
  /** Null: the store is not embedded, and has tools of its own. */
  readonly folder: string | null;
  readonly nowMs: () => number;
}

export interface TurnOptions {
  /** True: it waits for what is under way, which would refuse it otherwise. */
  readonly isPatient?: boolean;
}

interface PruneOptions extends TurnOptions {
  /** Absent: all backups. */
  readonly names?: ReadonlySet<string>;
}

/** The name of a backup is that of its folder: no separators, and no dot at the beginning. */
const NAME = /^[A-Za-z0-9][\w.-]{0,79}$/;
/** Names that `make` gives. */
const MADE_NAME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}-[0-9]{3}Z$/;
/** Folders with a copy that is verified. */
const COPY_PREFIX = '.verifying-';
const NO_SPACE: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);

/** The backups of an embedded store, one folder each. One is made, verified or deleted at a time. */
export class Backups {
  readonly #parts: BackupsParts;
  /** What is under way; null: nothing. */
  #underWay: Promise<unknown> | null = null;
  #downloads = 0;

  constructor(parts: BackupsParts) {
    this.#parts = parts;
  }

  async list(): Promise<Omit<BackupList, 'schedule'>> {
    const folder = this.#folder();
    const { bavail, bsize } = await statfs(folder).catch(() => ({ bavail: null, bsize: 0 }));
    const backups = (await backupsIn(folder)).filter(({ name }) => NAME.test(name));
    return { folder, free_bytes: bavail === null ? null : bavail * bsize, backups: backups.map(viewOf) };
  }

  /** Copies the store to a new folder. It goes on when the caller hangs up. */
  make(options: TurnOptions = {}): Promise<Backup> {
    const folder = this.#folder();
    return this.#alone(options, async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await this.#removeUnfinished(folder);
      const existing = await backupsIn(folder);
      if (existing.length >= BACKUPS_MAX) {
        throw new Refusal('limit_exceeded', `there are ${BACKUPS_MAX} backups already; delete some first`);
      }
      const name = new Date(this.#parts.nowMs()).toISOString().replaceAll(/[:.]/g, '-');
      try {
        await backUp(this.#parts, join(folder, name));
      } catch (error) {
        await rm(join(folder, name), { recursive: true, force: true });
        throw error;
      }
      return viewOf(await this.#find(name));
    });
  }

  /** Recomputes a copy of the backup, so that the backup itself stays as it is, also if it is downloaded meanwhile. */
  verify(name: string): Promise<BackupCheck> {
    const folder = this.#folder();
    return this.#alone({}, async () => {
      const backup = await this.#find(name);
      const copy = join(folder, `${COPY_PREFIX}${name}`);
      try {
        await rm(copy, { recursive: true, force: true });
        await mkdir(copy, { mode: 0o700 });
        for (const file of backup.files) {
          await copyFile(join(backup.folder, file.name), join(copy, file.name), constants.COPYFILE_FICLONE);
        }
        return await checkOf(name, this.#findDamage(backup, copy));
      } finally {
        await rm(copy, { recursive: true, force: true });
      }
    });
  }

  /** The data is read by a process of its own, and the files by this one. */
  async *#findDamage(backup: BackupEntry, copy: string): AsyncGenerator<Finding> {
    let isDamaged = false;
    for await (const finding of findDamage(copy)) {
      isDamaged = true;
      yield finding;
    }
    if (isDamaged || this.#parts.files === null) return;
    const store = await openFolder(copy);
    try {
      yield* verifyFiles(store, await openFilesBeside(backup.folder));
    } finally {
      await store.close();
    }
  }

  delete(name: string): Promise<Backup> {
    const folder = this.#folder();
    return this.#alone({}, async () => {
      const backup = await this.#find(name);
      await deleteBackup(backup);
      await removeUnneededFiles(folder, this.#parts.nowMs());
      return viewOf(backup);
    });
  }

  /** Deletes the oldest backups until `keep` are left: of all, or of those with the names. Returns what it deleted. */
  prune(keep: number, { names, ...options }: PruneOptions = {}): Promise<readonly Backup[]> {
    const folder = this.#folder();
    return this.#alone(options, async () => {
      const backups = (await backupsIn(folder)).filter(({ name }) => NAME.test(name) && names?.has(name) !== false);
      const tooMany = backups.slice(keep);
      for (const backup of tooMany) await deleteBackup(backup);
      if (tooMany.length > 0) await removeUnneededFiles(folder, this.#parts.nowMs());
      return tooMany.map(viewOf);
    });
  }

  /** Returns a backup to read its files. The caller must call `release` when it is done; further calls do nothing. */
  async open(name: string): Promise<{ readonly backup: BackupEntry; readonly release: () => void }> {
    this.#folder();
    const backup = await this.#find(name);
    if (this.#downloads >= BACKUP_DOWNLOADS_MAX) {
      const detail = `only ${BACKUP_DOWNLOADS_MAX} backups are downloaded at once`;
      throw new Refusal('rate_limited', detail, [], BACKUP_RETRY_AFTER_S);
    }
    this.#downloads++;
    let isHeld = true;
    const release = () => {
      if (isHeld) this.#downloads--;
      isHeld = false;
    };
    return { backup, release };
  }

  #folder(): string {
    const { folder } = this.#parts;
    if (folder !== null) return folder;
    throw new Refusal(
      'backup_not_offered',
      'the data is kept in Valkey or Redis, which is backed up with its own tools; docs/operating/backup.md says how',
    );
  }

  async #find(name: string): Promise<BackupEntry> {
    const backup = NAME.test(name) ? await readBackup(this.#folder(), name) : null;
    if (backup === null) throw new Refusal('backup_not_found', `there is no backup ${JSON.stringify(name)}`);
    return backup;
  }

  async #alone<T>({ isPatient = false }: TurnOptions, work: () => Promise<T>): Promise<T> {
    while (this.#underWay !== null) {
      if (!isPatient) {
        const detail = 'another backup is being made, verified or deleted; only one at a time';
        throw new Refusal('rate_limited', detail, [], BACKUP_RETRY_AFTER_S);
      }
      await this.#underWay.catch(() => undefined);
    }
    const turn = work().finally(() => {
      this.#underWay = null;
    });
    this.#underWay = turn;
    try {
      return await turn;
    } catch (error) {
      const isFull = error instanceof FileFault && error.kind === 'full';
      if (isFull || NO_SPACE.has((error as NodeJS.ErrnoException).code)) {
        throw new Refusal('store_full', 'the disk of the backups is full; delete some, or set another backup_folder');
      }
      throw error;
    }
  }

  /** Removes what is left of backups whose server died while it made them. Another process may be making one now. */
  async #removeUnfinished(folder: string): Promise<void> {
    const endMs = this.#parts.nowMs() - UNFINISHED_BACKUP_MS;
    for (const name of (await readdir(folder)).filter((one) => MADE_NAME.test(one))) {
      if (timeOf(name) < endMs && (await readBackup(folder, name)) === null) {
        await rm(join(folder, name), { recursive: true, force: true });
      }
    }
  }
}

/** Returns the time in a name that `make` gave. */
function timeOf(name: string): number {
  return Date.parse(name.replace(/T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z$/, 'T$1:$2:$3.$4Z'));
}

function viewOf({ name, madeAtMs, files, ofObjects }: BackupEntry): Backup {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return {
    ...{ name, made_at: new Date(madeAtMs).toISOString(), bytes },
    files: ofObjects?.files ?? null,
    files_wrong: ofObjects?.wrong ?? null,
  };
}

async function checkOf(name: string, found: AsyncIterable<Finding>): Promise<BackupCheck> {
  const findings: BackupCheck['findings'] = [];
  let count = 0;
  const add = ({ partition, problem, detail }: Finding) => {
    count++;
    if (count <= BACKUP_FINDINGS_MAX) findings.push({ source: partition?.source ?? null, problem, detail });
  };
  try {
    for await (const finding of found) add(finding);
  } catch (error) {
    // The engine refuses to open a file that is too damaged.
    if (!(error instanceof Error) || error.name !== 'UnusableFolder') throw error;
    add({ partition: null, problem: 'unreadable', detail: error.message });
  }
  return { name, is_undamaged: count === 0, findings_count: count, findings };
}
