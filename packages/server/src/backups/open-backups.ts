import { join } from 'node:path';
import type { Clock, Log, Tidemark } from '@tidemark/core';
import type { Config } from '../config/config.ts';
import type { FileTransfers } from '../files/file-transfers.ts';
import { Backups } from './backups.ts';
import { ScheduledBackups } from './scheduled-backups.ts';

export interface BackupsOpening {
  readonly tidemark: Pick<Tidemark, 'store' | 'audit'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly files: Pick<FileTransfers, 'engine'>;
}

export interface OpenedBackups {
  readonly backups: Backups;
  /** Null: no backup is made by schedule. */
  readonly scheduledBackups: ScheduledBackups | null;
}

export function openBackups(
  { store: engine, backupFolder, dataFolder, files, backup: { schedule, ...terms } }: Config,
  { tidemark: { store, audit }, clock: { nowMs }, log, files: { engine: fileEngine } }: BackupsOpening,
): OpenedBackups {
  const folder = engine === 'embedded' ? (backupFolder ?? join(dataFolder, 'backups')) : null;
  const backups = new Backups({
    ...{ store, folder, nowMs },
    files: files.s3 === null ? { store, openEngine: async () => fileEngine } : null,
  });
  if (schedule === null) return { backups, scheduledBackups: null };
  return {
    backups,
    scheduledBackups: new ScheduledBackups({ backups, store, audit, log, nowMs, schedule, ...terms }),
  };
}
