import { join } from 'node:path';
import type { Clock, Log, Tidemark } from '@tidemark/core';
import type { Config } from '../config/config.ts';
import { Backups } from './backups.ts';
import { ScheduledBackups } from './scheduled-backups.ts';

export interface BackupsOpening {
  readonly tidemark: Pick<Tidemark, 'store' | 'audit'>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface OpenedBackups {
  readonly backups: Backups;
  /** Null: no backup is made by schedule. */
  readonly scheduledBackups: ScheduledBackups | null;
}

export function openBackups(
  { store: engine, backupFolder, dataFolder, backup: { schedule, ...terms } }: Config,
  { tidemark: { store, audit }, clock: { nowMs }, log }: BackupsOpening,
): OpenedBackups {
  const folder = engine === 'embedded' ? (backupFolder ?? join(dataFolder, 'backups')) : null;
  const backups = new Backups({ store, folder, nowMs });
  if (schedule === null) return { backups, scheduledBackups: null };
  return {
    backups,
    scheduledBackups: new ScheduledBackups({ backups, store, audit, log, nowMs, schedule, ...terms }),
  };
}
