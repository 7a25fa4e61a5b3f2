import { closed, count, flag, moment, nullableCount, nullableText, text } from '../annotated.ts';
import { type Static, Type } from '../typebox.ts';

/** A copy of the data, made while the server runs. */
export const Backup = Type.Object(
  {
    name: text('The name of the backup, which is that of its folder.', '2030-01-31T12-00-00-000Z'),
    made_at: moment('When it was complete.'),
    bytes: count('Its size on the disk, without the files of objects.', 20_568),
    files: nullableCount('How many files of objects are kept beside it; null: they are in a bucket, or unknown.', 12),
    files_wrong: nullableCount(
      'How many files were gone or damaged when it was made; null: they are in a bucket, or unknown.',
      0,
    ),
  },
  { ...closed, title: 'Backup', description: 'A complete backup.' },
);
export type Backup = Static<typeof Backup>;

/** Backups that the server makes by itself, and how the last one went. */
export const BackupSchedule = Type.Object(
  {
    schedule: text('When a backup is made, in UTC.', 'daily 03:00'),
    keep: count('How many backups stay after it.', 14),
    command: nullableText('The program that is run after it; null: none.', '/usr/local/bin/copy-backup'),
    next_at: moment('When the next one is due.'),
    last: Type.Union(
      [
        Type.Object(
          {
            at: moment('When it began.'),
            state: Type.Enum(['running', 'done', 'failed'], {
              description: 'How it went. One whose server died is `running` for up to two minutes more, then `failed`.',
            }),
            name: nullableText('The name of the backup; null: none was made.', '2030-01-31T03-00-00-000Z'),
            detail: nullableText('What failed, in words; null: nothing.', 'the command ended with the code 1'),
          },
          { ...closed, title: 'ScheduledBackup', description: 'A backup by schedule.' },
        ),
        Type.Null(),
      ],
      { description: 'The last one; null: none was due yet.', examples: [null] },
    ),
  },
  { ...closed, title: 'BackupSchedule', description: 'The schedule of backups.' },
);
export type BackupSchedule = Static<typeof BackupSchedule>;

export const BackupList = Type.Object(
  {
    folder: text('The folder on the server that holds the backups.', '/var/lib/tidemark/backups'),
    free_bytes: nullableCount(
      'Free space on the disk of that folder; null: unknown, because there is no folder yet.',
      4_000_000_000,
    ),
    backups: Type.Array(Backup, { description: 'The backups, newest first.' }),
    schedule: Type.Union([BackupSchedule, Type.Null()], {
      description: 'The backups by schedule; null: `backup.schedule` is not set.',
      examples: [null],
    }),
  },
  { ...closed, title: 'BackupList', description: 'The backups of the server.' },
);
export type BackupList = Static<typeof BackupList>;

export const BackupCheck = Type.Object(
  {
    name: text('The name of the backup.', '2030-01-31T12-00-00-000Z'),
    is_undamaged: flag('True: nothing was found.'),
    findings_count: count('How many differences were found.', 0),
    findings: Type.Array(
      Type.Object(
        {
          source: nullableText('The source it is about; null: the whole store.', 'Product'),
          problem: text('The kind of damage.', 'wrong_checksum'),
          detail: text('What was found, in words.', 'the checksum is 17 and should be 18'),
        },
        { ...closed, title: 'BackupFinding', description: 'A difference between a backup and what its records say.' },
      ),
      { description: 'The first of them.' },
    ),
  },
  { ...closed, title: 'BackupCheck', description: 'The result of verifying a backup.' },
);
export type BackupCheck = Static<typeof BackupCheck>;
