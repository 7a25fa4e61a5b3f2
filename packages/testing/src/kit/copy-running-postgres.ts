import { appendFile, chown, copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sql } from '@tidemark/postgres';

/** A server that runs, whose files are copied. */
export interface RunningPostgres {
  /** Statements of a superuser. */
  readonly sql: Sql;
  readonly url: string;
  readonly data: string;
}

export interface CopyTarget {
  readonly data: string;
  /** Who owns the files; null: whoever runs this. */
  readonly owner: { readonly uid: number; readonly gid: number } | null;
}

/** Keeps the log until it is copied as well. */
const SLOT = 'copy_of_files';
const LOG = 'pg_wal';
/** Folders whose content belongs to the process that runs, or to its slots. */
const EMPTIED = new Set([
  LOG,
  ...['pg_dynshmem', 'pg_notify', 'pg_replslot', 'pg_serial', 'pg_snapshots', 'pg_stat_tmp', 'pg_subtrans'],
]);
const LEFT_OUT = new Set(['postmaster.pid', 'postmaster.opts']);

/**
 * Copies the files of a server that runs, so that a server on the copy is a standby that follows it. It does what `pg_basebackup`
 * does, which builds of Postgres from npm do not have. Needs Postgres 15 or newer.
 */
export async function copyRunningPostgres({ sql, url, data }: RunningPostgres, to: CopyTarget): Promise<void> {
  // A transaction, because all of it has to be done by one connection.
  const label = await sql.begin(async (tx) => {
    await tx`SELECT pg_create_physical_replication_slot(${SLOT}, true, true)`;
    await tx`SELECT pg_backup_start(${SLOT}, true)`;
    await copyFolder(data, to, (name) => !EMPTIED.has(name) && !LEFT_OUT.has(name));
    for (const name of EMPTIED) await makeFolder({ ...to, data: join(to.data, name) });
    const [row] = await tx`SELECT labelfile FROM pg_backup_stop(false)`;
    await copyFolder(join(data, LOG), { ...to, data: join(to.data, LOG) }, () => true);
    await tx`SELECT pg_drop_replication_slot(${SLOT})`;
    return String(row?.labelfile);
  });
  await writeFile(join(to.data, 'backup_label'), label);
  await writeFile(join(to.data, 'standby.signal'), '');
  await appendFile(join(to.data, 'postgresql.auto.conf'), `primary_conninfo = '${url}'\n`);
  if (to.owner === null) return;
  for (const name of ['backup_label', 'standby.signal']) {
    await chown(join(to.data, name), to.owner.uid, to.owner.gid);
  }
}

async function makeFolder({ data, owner }: CopyTarget): Promise<void> {
  await mkdir(data, { mode: 0o700, recursive: true });
  if (owner !== null) await chown(data, owner.uid, owner.gid);
}

/** Copies a folder with everything in it. What the server deletes meanwhile is left out: the log says so, too. */
async function copyFolder(from: string, to: CopyTarget, isWanted: (name: string) => boolean): Promise<void> {
  await makeFolder(to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (!isWanted(entry.name)) continue;
    const [source, target] = [join(from, entry.name), { ...to, data: join(to.data, entry.name) }];
    if (entry.isDirectory()) await copyFolder(source, target, () => true).catch(unlessGone);
    else await copyOne(source, target).catch(unlessGone);
  }
}

async function copyOne(from: string, { data, owner }: CopyTarget): Promise<void> {
  await copyFile(from, data);
  if (owner !== null) await chown(data, owner.uid, owner.gid);
}

function unlessGone(error: unknown): void {
  if ((error as { readonly code?: unknown }).code !== 'ENOENT') throw error;
}
