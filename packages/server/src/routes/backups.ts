import { pointer, Refusal } from '@tidemark/protocol';
import { Backup, BackupCheck, BackupList } from '@tidemark/protocol/admin/backups';
import { closed, text } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { readTar, tarBytes } from '../backups/tar.ts';
import { documentedAs } from '../http/documented-schema.ts';
import { FileAnswer, route } from '../http/route.ts';
import { BACKUPS_MAX } from '../limits.ts';
import { Empty } from './shapes.ts';

const BackupParams = Type.Object({ backup: text('The name of the backup.', '2030-01-31T12-00-00-000Z') });
const Archive = Type.String({ description: 'A tar archive with one folder, for `tidemark restore`.' });
const Keep = Type.Integer({ minimum: 1, maximum: BACKUPS_MAX, description: 'How many stay.', examples: [14] });

const list = route({
  method: 'GET',
  path: '/rc/v1/system/backups',
  operationId: 'backupsList',
  scope: 'admin',
  summary: 'The backups that the server holds, newest first',
  refusals: ['backup_not_offered'],
  answer: BackupList,
  handle: async ({ context: { backups, scheduledBackups } }) => ({
    ...(await backups.list()),
    schedule: (await scheduledBackups?.read()) ?? null,
  }),
});

const make = route({
  method: 'POST',
  path: '/rc/v1/system/backups',
  operationId: 'backupsCreate',
  scope: 'admin',
  summary: 'Make a backup of the data, while the server goes on',
  description: 'Answers when the backup is on the disk. A caller that hangs up does not stop it.',
  refusals: ['backup_not_offered', 'limit_exceeded'],
  body: Empty,
  answer: Backup,
  audit: 'backup.make',
  auditTarget: (answer) => (answer as Backup).name,
  handle: ({ context }) => context.backups.make(),
});

const prune = route({
  method: 'POST',
  path: '/rc/v1/system/backups/prune',
  operationId: 'backupsPrune',
  scope: 'admin',
  summary: 'Delete the oldest backups until a number of them is left',
  refusals: ['backup_not_offered', 'invalid_value'],
  body: Type.Object(
    { keep: Type.Unknown(documentedAs(Keep)) },
    { ...closed, title: 'BackupPruning', description: 'Which backups to keep.' },
  ),
  answer: Type.Array(Backup, { description: 'The backups that were deleted.' }),
  audit: 'backup.prune',
  handle: ({ context, body }) => context.backups.prune(keepOf(body.keep)),
});

function keepOf(keep: unknown): number {
  if (Number.isInteger(keep) && Number(keep) >= 1 && Number(keep) <= BACKUPS_MAX) return Number(keep);
  const detail = `must be a whole number from 1 to ${BACKUPS_MAX}`;
  throw new Refusal('invalid_value', `keep ${detail}`, [{ pointer: pointer('keep'), detail }]);
}

const download = route({
  method: 'GET',
  path: '/rc/v1/system/backups/:backup',
  operationId: 'backupsDownload',
  scope: 'admin:reset',
  summary: 'Download a backup as a tar archive',
  description:
    'The archive has one folder, which `tidemark restore` takes. It holds password hashes and secrets, so the token needs the scope `admin:reset`.',
  params: BackupParams,
  answer: Archive,
  streams: 'application/x-tar',
  audit: 'backup.download',
  handle: async ({ context, params }) => {
    const { backup, release } = await context.backups.open(params.backup);
    return new FileAnswer({
      name: `tidemark-${backup.name}.tar`,
      bytes: tarBytes(backup),
      chunks: readTar(backup),
      onEnd: release,
    });
  },
});

const verify = route({
  method: 'POST',
  path: '/rc/v1/system/backups/:backup/verify',
  operationId: 'backupsVerify',
  scope: 'admin',
  summary: 'Check a backup for damage, by recomputing indexes, sizes and checksums',
  description: 'Reads a temporary copy in a process of its own. Answers when everything has been read.',
  params: BackupParams,
  body: Empty,
  answer: BackupCheck,
  audit: 'backup.verify',
  handle: ({ context, params }) => context.backups.verify(params.backup),
});

const remove = route({
  method: 'DELETE',
  path: '/rc/v1/system/backups/:backup',
  operationId: 'backupsDelete',
  scope: 'admin',
  summary: 'Delete a backup',
  params: BackupParams,
  answer: Backup,
  audit: 'backup.delete',
  handle: ({ context, params }) => context.backups.delete(params.backup),
});

export const backupRoutes = [list, make, prune, download, verify, remove];
