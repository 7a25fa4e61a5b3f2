import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { isAhead, type Log, type Store, type Tidemark } from '@tidemark/core';
import { type BackupSchedule, errorMessage, parseJson } from '@tidemark/protocol';
import type { Config } from '../config/config.ts';
import { nextTime, type Schedule } from '../config/schedule.ts';
import { BACKUP_COMMAND_MS_MAX, BACKUP_COMMAND_UNITS_MAX, BACKUP_SILENT_MS, BACKUPS_MAX } from '../limits.ts';
import type { Backups } from './backups.ts';

export interface ScheduledBackupsParts {
  readonly backups: Pick<Backups, 'make' | 'prune' | 'list'>;
  readonly store: Pick<Store, 'readEntry' | 'writeEntries'>;
  readonly audit: Pick<Tidemark['audit'], 'record'>;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly schedule: Schedule;
  readonly keep: Config['backup']['keep'];
  readonly command: Config['backup']['command'];
}

type LastBackup = NonNullable<BackupSchedule['last']>;

/** What is stored: since when the schedule counts, and the last backup. */
interface Stored {
  readonly sinceMs: number;
  readonly last: LastBackup | null;
  /** When the process that makes the last backup said so. Absent in what earlier versions wrote. */
  readonly aliveMs?: number;
  /** The backups that the command failed for since it last worked, oldest first. */
  readonly uncopied?: readonly string[];
}

const REF = { kind: 'setting', key: ['scheduled_backup'] } as const;
const CHECK_EVERY_MS = 30_000;
const UNFINISHED =
  'it was not finished: the server ended meanwhile, or this data was restored from a copy that it made then';
/** A schedule waits for what people do at the same time. */
const PATIENT = { isPatient: true } as const;
const NOBODY = { actor: null, token_id: null, address: '', request_id: '' };

/**
 * Makes backups by a schedule, deletes old ones, and runs a command. Of many processes on one store the one that first
 * writes down that it makes the backup makes it.
 */
export class ScheduledBackups {
  readonly #parts: ScheduledBackupsParts;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;
  /** The backup that this process makes. */
  #underWay: Stored | null = null;

  constructor(parts: ScheduledBackupsParts) {
    this.#parts = parts;
  }

  start(): void {
    const warn = (error: unknown) =>
      this.#parts.log.warn('scheduled_backup_not_checked', { reason: errorMessage(error) });
    const check = () => {
      // A backup may take longer than the time between two checks.
      if (this.#underWay !== null) void this.#writeUnderWay(this.#underWay).catch(warn);
      this.#running ??= this.check()
        .catch(warn)
        .finally(() => {
          this.#running = null;
        });
    };
    this.#timer = setInterval(check, CHECK_EVERY_MS);
    this.#timer.unref();
    check();
  }

  /** Waits for a backup under way. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#running;
  }

  /** Makes a backup if one is due. */
  async check(): Promise<void> {
    const { store, schedule, nowMs } = this.#parts;
    const now = nowMs();
    const entry = await store.readEntry(REF);
    if (entry === null) {
      // The schedule counts from the first start with it.
      await this.#write({ sinceMs: now, last: null }, 0);
      return;
    }
    const stored = parseJson(entry.value) as Stored;
    if (isAhead(stored.sinceMs, now)) {
      // It was written by a clock that was ahead, and would make no backup until that time.
      await this.#write({ ...stored, sinceMs: now }, entry.version);
      return;
    }
    if (stored.last?.state === 'running') await this.#endUnlessAlive(stored, stored.last, entry.version);
    else if (now >= nextTime(schedule, stored.sinceMs)) await this.#begin(stored, entry.version);
  }

  async read(): Promise<BackupSchedule> {
    const { store, schedule, keep, command, nowMs } = this.#parts;
    const entry = await store.readEntry(REF);
    const { sinceMs, last } = entry === null ? { sinceMs: nowMs(), last: null } : (parseJson(entry.value) as Stored);
    return {
      schedule: schedule.text,
      keep,
      command,
      next_at: new Date(nextTime(schedule, sinceMs)).toISOString(),
      last,
    };
  }

  /** Writes down that a backup has failed whose process has said nothing for too long. */
  async #endUnlessAlive(stored: Stored, last: LastBackup, version: number): Promise<void> {
    const now = this.#parts.nowMs();
    const aliveMs = stored.aliveMs ?? stored.sinceMs;
    if (now - aliveMs < BACKUP_SILENT_MS && !isAhead(aliveMs, now)) return;
    const failed: LastBackup = { ...last, state: 'failed', detail: UNFINISHED };
    const uncopied = last.name === null ? stored.uncopied : [...(stored.uncopied ?? []), last.name];
    if (await this.#write({ ...stored, last: failed, ...(uncopied && { uncopied }) }, version)) {
      await this.#report(failed);
    }
  }

  async #begin({ uncopied = [] }: Stored, version: number): Promise<void> {
    const now = this.#parts.nowMs();
    const running: LastBackup = { at: new Date(now).toISOString(), state: 'running', name: null, detail: null };
    const stored: Stored = { sinceMs: now, last: running, aliveMs: now, uncopied };
    if (!(await this.#write(stored, version))) return;
    this.#underWay = stored;
    try {
      const { uncopied: left, ...end } = await this.#make(stored, running);
      const last = { ...running, ...end };
      this.#underWay = null;
      await this.#write({ sinceMs: now, last, uncopied: left });
      await this.#report(last);
    } finally {
      this.#underWay = null;
    }
  }

  async #make(
    stored: Stored,
    running: LastBackup,
  ): Promise<Pick<LastBackup, 'state' | 'name' | 'detail'> & Required<Pick<Stored, 'uncopied'>>> {
    const { backups, keep, command } = this.#parts;
    let { uncopied = [] } = stored;
    let name: string | null = null;
    try {
      await this.#makeRoom(uncopied);
      const made = await backups.make(PATIENT);
      name = made.name;
      const wrong = made.files_wrong ?? 0;
      if (command !== null) {
        uncopied = [...uncopied, name];
        this.#underWay = { ...stored, last: { ...running, name } };
        await this.#writeUnderWay(this.#underWay);
        await runCommand(command, join((await backups.list()).folder, name));
      }
      await backups.prune(keep, PATIENT);
      const detail = wrong === 0 ? null : `${wrong} files were gone or damaged; tidemark files verify names them`;
      return { state: 'done', name, detail, uncopied: [] };
    } catch (error) {
      // Backups that the command worked for stay until it works again. The others must not fill the disk meanwhile.
      const left = await backups.prune(keep, { ...PATIENT, names: new Set(uncopied) }).then(
        () => uncopied.slice(-keep),
        () => uncopied.slice(-BACKUPS_MAX),
      );
      return { state: 'failed', name, detail: errorMessage(error), uncopied: left };
    }
  }

  /** Deletes a backup if there are so many that no other can be made: one that the command failed for, else the oldest. */
  async #makeRoom(uncopied: readonly string[]): Promise<void> {
    const { backups } = this.#parts;
    const existing = (await backups.list()).backups;
    if (existing.length < BACKUPS_MAX) return;
    const failed = existing.filter(({ name }) => uncopied.includes(name));
    if (failed.length > 0) await backups.prune(failed.length - 1, { ...PATIENT, names: new Set(uncopied) });
    else await backups.prune(BACKUPS_MAX - 1, PATIENT);
  }

  async #report({ state, name, detail }: LastBackup): Promise<void> {
    const { audit, log } = this.#parts;
    if (state === 'failed') log.error('scheduled_backup_failed', { name, reason: detail });
    else if (detail !== null) log.warn('scheduled_backup_incomplete', { name, reason: detail });
    else log.info('scheduled_backup_done', { name });
    const subject = name === null ? {} : { subject: { name } };
    const result = state === 'failed' ? 'failed' : 'ok';
    await audit.record({ ...NOBODY, action: 'backup.scheduled', target: detail ?? name, result, ...subject });
  }

  /** Says that the backup is still being made. */
  async #writeUnderWay(stored: Stored): Promise<void> {
    await this.#write({ ...stored, aliveMs: this.#parts.nowMs() });
  }

  /** Returns false if another process has written meanwhile. */
  async #write(stored: Stored, expect?: number): Promise<boolean> {
    const write = { ...REF, value: JSON.stringify(stored), ...(expect === undefined ? {} : { expect }) };
    const { status } = await this.#parts.store.writeEntries({ writes: [write], guards: [] });
    return status === 'written';
  }
}

/** Runs a program with the folder of the backup. Rejects with what it said if it fails. */
function runCommand(command: string, folder: string): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(command, [folder], { timeout: BACKUP_COMMAND_MS_MAX }, (error, _stdout, stderr) => {
      if (error === null) return resolve();
      const why = error.killed === true ? 'took longer than an hour' : `failed: ${codeWords(error.code)}`;
      const said = stderr.trim().slice(-BACKUP_COMMAND_UNITS_MAX);
      reject(new Error(`the command ${command} ${why}${said === '' ? '' : `, and said: ${said}`}`));
    });
  });
}

function codeWords(code: string | number | null | undefined): string {
  return typeof code === 'number' ? `it ended with the code ${code}` : String(code ?? 'it was killed');
}
