import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { isAhead, type Log, type Store, type Tidemark } from '@tidemark/core';
import { type BackupSchedule, errorMessage, parseJson } from '@tidemark/protocol';
import type { Config } from '../config/config.ts';
import { nextTime, type Schedule } from '../config/schedule.ts';
import { BACKUP_COMMAND_MS_MAX, BACKUP_COMMAND_UNITS_MAX } from '../limits.ts';
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
}

const REF = { kind: 'setting', key: ['scheduled_backup'] } as const;
const CHECK_EVERY_MS = 30_000;
const NOBODY = { actor: null, token_id: null, address: '', request_id: '' };

/**
 * Makes backups by a schedule, deletes old ones, and runs a command. Of many processes on one store the one that first
 * writes down that it makes the backup makes it.
 */
export class ScheduledBackups {
  readonly #parts: ScheduledBackupsParts;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;

  constructor(parts: ScheduledBackupsParts) {
    this.#parts = parts;
  }

  start(): void {
    const check = () => {
      // A backup may take longer than the time between two checks.
      this.#running ??= this.check()
        .catch((error) => this.#parts.log.warn('scheduled_backup_not_checked', { reason: errorMessage(error) }))
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
    const { sinceMs, last: before } = parseJson(entry.value) as Stored;
    if (isAhead(sinceMs, now)) {
      // It was written by a clock that was ahead, and would make no backup until that time.
      await this.#write({ sinceMs: now, last: before }, entry.version);
      return;
    }
    if (now < nextTime(schedule, sinceMs)) return;
    const running: LastBackup = { at: new Date(now).toISOString(), state: 'running', name: null, detail: null };
    if (!(await this.#write({ sinceMs: now, last: running }, entry.version))) return;
    const last = { ...running, ...(await this.#make()) };
    await this.#write({ sinceMs: now, last });
    await this.#report(last);
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

  async #make(): Promise<Pick<LastBackup, 'state' | 'name' | 'detail'>> {
    const { backups, keep, command } = this.#parts;
    let name: string | null = null;
    try {
      ({ name } = await backups.make());
      if (command !== null) await runCommand(command, join((await backups.list()).folder, name));
      await backups.prune(keep);
      return { state: 'done', name, detail: null };
    } catch (error) {
      return { state: 'failed', name, detail: errorMessage(error) };
    }
  }

  async #report({ state, name, detail }: LastBackup): Promise<void> {
    const { audit, log } = this.#parts;
    if (state === 'failed') log.error('scheduled_backup_failed', { name, reason: detail });
    else log.info('scheduled_backup_done', { name });
    const subject = name === null ? {} : { subject: { name } };
    const result = state === 'failed' ? 'failed' : 'ok';
    await audit.record({ ...NOBODY, action: 'backup.scheduled', target: detail ?? name, result, ...subject });
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
