import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Store } from '@tidemark/core';
import { refusalOf, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { testConfig } from '@tidemark/testing/server';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BACKUP_DOWNLOADS_MAX, BACKUPS_MAX, UNFINISHED_BACKUP_MS } from '../limits.ts';
import { openStore } from '../open-engines.ts';
import { Backups } from './backups.ts';
import { readTar, tarBytes } from './tar.ts';

let temporary: TemporaryFolder;
let store: Store;
let folder: string;
let nowMs: number;
let backups: Backups;

beforeEach(async () => {
  temporary = await temporaryFolder();
  store = await openStore(testConfig(join(temporary.path, 'data')));
  folder = join(temporary.path, 'backups');
  nowMs = Date.UTC(2030, 0, 31, 12);
  backups = new Backups({ store, folder, files: null, nowMs: () => nowMs++ });
});

afterEach(async () => {
  await store.close();
  await temporary.remove();
});

it('[BACKUP-4] a downloaded archive has the announced size and unpacks to the files of the backup', async () => {
  const { name } = await backups.make();
  const { backup, release } = await backups.open(name);
  const chunks: Buffer[] = [];
  for await (const chunk of readTar(backup)) chunks.push(chunk);
  release();
  expect(Buffer.concat(chunks).length).toBe(tarBytes(backup));
  const target = join(temporary.path, 'unpacked');
  mkdirSync(target);
  const archive = join(temporary.path, 'backup.tar');
  writeFileSync(archive, Buffer.concat(chunks));
  await promisify(execFile)('tar', ['xf', archive, '-C', target]);
  for (const file of ['store.mdb', 'tidemark.json']) {
    expect(readFileSync(join(target, name, file)).equals(readFileSync(join(folder, name, file)))).toBe(true);
  }
});

it('[BACKUP-4] the header of a file beyond 8 GiB holds its size in binary', async () => {
  const files = [{ name: 'store.mdb', bytes: 2 ** 33 + 5 }];
  const entry = { name: 'b', folder: temporary.path, madeAtMs: 0, files, ofObjects: null };
  const headers: Buffer[] = [];
  for await (const chunk of readTar(entry)) if (headers.push(chunk) === 2) break;
  expect(headers[1]?.readBigUInt64BE(128)).toBe(BigInt(2 ** 33 + 5));
  expect(tarBytes(entry)).toBe(512 * 4 + 2 ** 33 + 512);
});

it('[BACKUP-5] a verification finds damage, and leaves the backup as it is', async () => {
  const { name } = await backups.make();
  const before = readFileSync(join(folder, name, 'store.mdb'));
  expect(await backups.verify(name)).toEqual({ name, is_undamaged: true, findings_count: 0, findings: [] });
  expect(readFileSync(join(folder, name, 'store.mdb')).equals(before)).toBe(true);
  expect(readdirSync(folder)).toEqual([name]);
  truncateSync(join(folder, name, 'store.mdb'), 8_192);
  expect(await backups.verify(name)).toMatchObject({
    is_undamaged: false,
    findings: [{ source: null, problem: 'unreadable' }],
  });
  expect(readdirSync(folder)).toEqual([name]);
});

it('[BACKUP-6] only one backup is made at a time, and only some are downloaded at once', async () => {
  const making = backups.make();
  expect(await refusalOf(backups.make())).toBe('rate_limited');
  const { name } = await making;
  const open = await Promise.all(Array.from({ length: BACKUP_DOWNLOADS_MAX }, () => backups.open(name)));
  expect(await refusalOf(backups.open(name))).toBe('rate_limited');
  open[0]?.release();
  open[0]?.release();
  (await backups.open(name)).release();
  for (const { release } of open) release();
});

it('[BACKUP-6] the number of backups is limited, and pruning keeps the newest', async () => {
  mkdirSync(folder);
  for (let index = 0; index < BACKUPS_MAX - 1; index++) {
    mkdirSync(join(folder, `b${index}`));
    writeFileSync(join(folder, `b${index}`, 'tidemark.json'), '{"product":"tidemark","state":"backup"}');
  }
  const { name } = await backups.make();
  expect(await refusalOf(backups.make())).toBe('limit_exceeded');
  mkdirSync(join(folder, 'photos'));
  expect(await backups.prune(1)).toHaveLength(BACKUPS_MAX - 1);
  expect(readdirSync(folder).sort()).toEqual([name, 'photos']);
});

it('[BACKUP-7] a backup that fails leaves nothing, and what a dead server left is removed a day later', async () => {
  const full = Object.assign(new Error('no space'), { code: 'ENOSPC' });
  const failing = {
    backup: async (target: string) => {
      mkdirSync(target);
      writeFileSync(join(target, 'store.mdb'), 'half');
      throw full;
    },
  };
  const failed = new Backups({ store: failing, files: null, folder, nowMs: () => nowMs });
  expect(await refusalOf(failed.make())).toBe('store_full');
  expect(readdirSync(folder)).toEqual([]);
  mkdirSync(join(folder, '2030-01-31T12-00-00-000Z'));
  nowMs += 1;
  await backups.make();
  expect((await backups.list()).backups).toHaveLength(1);
  expect(readdirSync(folder)).toHaveLength(2);
  nowMs += UNFINISHED_BACKUP_MS;
  await backups.make();
  expect(readdirSync(folder)).not.toContain('2030-01-31T12-00-00-000Z');
});
