import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store, Tidemark } from '@tidemark/core';
import { type FileEngine, FileFault, openFolderEngine } from '@tidemark/files';
import { newTidemark, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { testConfig } from '@tidemark/testing/server';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { UNFINISHED_BACKUP_MS } from '../limits.ts';
import { openStore } from '../open-engines.ts';
import { backUp, FILES_FOLDER, removeUnneededFiles } from './backup-files.ts';
import { backupsIn, deleteBackup, readBackup } from './backup-folder.ts';
import { Backups } from './backups.ts';
import { copyFiles } from './copy-files.ts';
import { verifyFiles } from './verify-files.ts';

const NOW_MS = Date.UTC(2030, 0, 31, 12);
let temporary: TemporaryFolder;
let store: Store;
let tidemark: Tidemark;
let engine: FileEngine;
let parent: string;
let files: { readonly store: Store; readonly openEngine: () => Promise<FileEngine> };

beforeEach(async () => {
  temporary = await temporaryFolder();
  store = await openStore(testConfig(join(temporary.path, 'data')));
  ({ tidemark } = await newTidemark({ store }));
  engine = await openFolderEngine({ folder: join(temporary.path, 'files') });
  parent = join(temporary.path, 'backups');
  mkdirSync(parent);
  files = { store, openEngine: async () => engine };
});

afterEach(async () => {
  await store.close();
  await temporary.remove();
});

const sha256Of = (text: string) => createHash('sha256').update(text).digest('hex');

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function keep(text: string): Promise<void> {
  const arrival = { sha256: sha256Of(text), size: text.length, by: { kind: 'backend' } } as const;
  await tidemark.files.arriving(arrival);
  await engine.write(chunksOf(text), { bytesMax: 100, admit: async () => {} });
  await tidemark.files.stored(arrival);
}

function pathOf(text: string): string {
  const sha256 = sha256Of(text);
  return join(parent, FILES_FOLDER, 'files', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
}

async function listed(): Promise<readonly string[]> {
  const pool = await openFolderEngine({ folder: join(parent, FILES_FOLDER) });
  return (await pool.list({ limit: 100 })).map(({ sha256 }) => sha256);
}

const sorted = (...texts: readonly string[]) => texts.map(sha256Of).sort();

it('[FILES-26] files are copied once, each backup lists those it needs, and the others go with the last backup that did', async () => {
  await keep('a');
  await keep('b');
  expect(await backUp({ store, files }, join(parent, 'one'))).toEqual({ files: 2, bytes: 2, wrong: 0 });
  const { ino } = statSync(pathOf('a'));
  await engine.remove(sha256Of('b'), async () => false);
  await tidemark.files.lost(sha256Of('b'));
  await keep('c');
  expect(await backUp({ store, files }, join(parent, 'two'))).toEqual({ files: 2, bytes: 2, wrong: 0 });
  expect(statSync(pathOf('a')).ino).toBe(ino);
  await removeUnneededFiles(parent, Date.now());
  expect(await listed()).toEqual(sorted('a', 'b', 'c'));
  const one = await readBackup(parent, 'one');
  if (one === null) throw new Error('it is a backup');
  await deleteBackup(one);
  await removeUnneededFiles(parent, Date.now());
  expect(await listed()).toEqual(sorted('a', 'c'));
  rmSync(join(parent, 'two'), { recursive: true });
  await removeUnneededFiles(parent, Date.now());
  expect(await listed()).toEqual([]);
});

it('[FILES-26] a file that is stored at the moment of the copy, and one that is removed at that moment, are in the backup', async () => {
  await keep('removed');
  const copy = async (target: string) => {
    await keep('new');
    await store.backup(target);
    await keep('newer');
    await engine.remove(sha256Of('removed'), async () => false);
    await tidemark.files.lost(sha256Of('removed'));
  };
  await backUp({ store: { backup: copy }, files }, join(parent, 'one'));
  await removeUnneededFiles(parent, Date.now());
  expect(await listed()).toEqual(sorted('removed', 'new', 'newer'));
});

it('[FILES-26] the only file, which is removed at the moment of the copy, is in the backup', async () => {
  await keep('removed');
  const copy = async (target: string) => {
    await store.backup(target);
    await engine.remove(sha256Of('removed'), async () => false);
    await tidemark.files.lost(sha256Of('removed'));
  };
  await backUp({ store: { backup: copy }, files }, join(parent, 'one'));
  await removeUnneededFiles(parent, Date.now());
  expect(await listed()).toEqual(sorted('removed'));
});

it('[FILES-26] files stay that a backup needs which began in a folder that was there, while others were removed', async () => {
  await keep('a');
  await keep('b');
  await backUp({ store, files }, join(parent, 'one'));
  rmSync(join(parent, 'one'), { recursive: true });
  mkdirSync(join(parent, 'two'));
  const backup = async (target: string) => {
    rmSync(target, { recursive: true });
    await store.backup(target);
  };
  const openPool = async (options: { readonly folder: string }) => {
    const pool = await openFolderEngine(options);
    const listPool = pool.list.bind(pool);
    const list = async (page: Parameters<FileEngine['list']>[0]) => {
      await backUp({ store: { backup }, files }, join(parent, 'two'));
      return listPool(page);
    };
    return Object.assign(pool, { list });
  };
  await removeUnneededFiles(parent, Date.now(), openPool);
  expect(await listed()).toEqual(sorted('a', 'b'));
});

it('[FILES-26] no file is removed from beside backups while another backup is made, and a dead one stops that for a day', async () => {
  await keep('a');
  await backUp({ store, files }, join(parent, 'one'));
  rmSync(join(parent, 'one'), { recursive: true });
  const making = join(parent, FILES_FOLDER, 'making.two');
  writeFileSync(making, '');
  await removeUnneededFiles(parent, Date.now());
  expect(await listed()).toEqual(sorted('a'));
  const longAgoS = (Date.now() - UNFINISHED_BACKUP_MS) / 1_000;
  utimesSync(making, longAgoS, longAgoS);
  await removeUnneededFiles(parent, Date.now());
  expect(await listed()).toEqual([]);
});

it('[FILES-26] no file is removed from beside backups that a backup needs which began and ended meanwhile', async () => {
  await keep('a');
  await backUp({ store, files }, join(parent, 'one'));
  rmSync(join(parent, 'one'), { recursive: true });
  // The list of another backup can be read when it is written, so the removal waits for it.
  mkdirSync(join(parent, 'two'));
  const list = join(parent, 'two', 'files.txt');
  execFileSync('mkfifo', [list]);
  const removal = removeUnneededFiles(parent, Date.now());
  const writer = await open(list, 'w');
  await backUp({ store, files }, join(parent, 'three'));
  await writer.close();
  await removal;
  expect(await listed()).toEqual(sorted('a'));
});

it('[FILES-26] a copy beside backups that was cut off is made again by the next backup', async () => {
  await keep('whole');
  await backUp({ store, files }, join(parent, 'one'));
  writeFileSync(pathOf('whole'), 'who');
  expect(await backUp({ store, files }, join(parent, 'two'))).toMatchObject({ files: 1, wrong: 0 });
  expect(readFileSync(pathOf('whole'), 'utf8')).toBe('whole');
});

it('[FILES-26] a file that the collector has out of the way for a moment is copied', async () => {
  await keep('aside');
  const { id, place } = engine;
  let reads = 0;
  async function* read(sha256: string) {
    if (reads++ === 0) throw new FileFault('no_file', 'the file is not stored');
    yield* engine.read(sha256);
  }
  const never = () => Promise.reject(new Error('nothing else is called'));
  const from = { id, place, read, stat: never, write: never, remove: never };
  const to = await openFolderEngine({ folder: join(temporary.path, 'copies') });
  const wrong: string[] = [];
  const copies = await copyFiles({ store, from, to, onWrong: (sha256) => wrong.push(sha256) });
  expect([copies, wrong]).toEqual([{ files: 1, bytes: 5, copied: 1 }, []]);
});

it('[FILES-27] a damaged file in place stays as long as nothing better is there', async () => {
  await keep('torn');
  await backUp({ store, files }, join(parent, 'one'));
  const sha256 = sha256Of('torn');
  writeFileSync(pathOf('torn'), 'TORN');
  writeFileSync(join(engine.place, 'files', sha256.slice(0, 2), sha256.slice(2, 4), sha256), 'worn');
  const from = await openFolderEngine({ folder: join(parent, FILES_FOLDER) });
  const wrong: string[] = [];
  const onWrong = (_: string, problem: string) => wrong.push(problem);
  for (const place of [from, await openFolderEngine({ folder: join(temporary.path, 'empty') })])
    await copyFiles({ store, from: place, to: engine, checksPresent: true, onWrong });
  expect([wrong, await engine.stat(sha256)]).toMatchObject([['damaged', 'damaged'], { size: 4 }]);
});

it('[FILES-28] a file that is removed while others are read is not said to be damaged', async () => {
  await keep('removed');
  await keep('damaged');
  async function* read(sha256: string): AsyncGenerator<Uint8Array> {
    if (sha256 === sha256Of('removed')) await tidemark.files.lost(sha256);
    yield Buffer.from('other bytes');
  }
  const findings: string[] = [];
  for await (const { detail } of verifyFiles(store, { read, place: 'there' })) findings.push(detail);
  expect(findings).toEqual([expect.stringContaining(sha256Of('damaged'))]);
});

it('[FILES-26] a backup whose process dies, or that fails, before its last files are copied is no backup', async () => {
  await keep('a');
  const killed = join(temporary.path, 'killed');
  let opened = 0;
  const openEngine = async () => {
    if (++opened < 2) return engine;
    // What a process leaves behind that dies now.
    cpSync(parent, killed, { recursive: true });
    throw new Error('the disk failed');
  };
  await expect(backUp({ store, files: { store, openEngine } }, join(parent, 'one'))).rejects.toThrow('the disk failed');
  expect(await backupsIn(parent)).toEqual([]);
  expect(existsSync(join(killed, 'one', 'store.mdb'))).toBe(true);
  expect(await backupsIn(killed)).toEqual([]);
  // The next one is made beside it, and its files stay.
  await keep('b');
  await backUp({ store, files }, join(killed, 'two'));
  await removeUnneededFiles(killed, Date.now());
  await removeUnneededFiles(killed, Date.now() + UNFINISHED_BACKUP_MS);
  expect((await backupsIn(killed)).map(({ name }) => name)).toEqual(['two']);
  expect(await readBackup(killed, 'two')).toMatchObject({ ofObjects: { files: 2, wrong: 0 } });
  const pool = await openFolderEngine({ folder: join(killed, FILES_FOLDER) });
  expect((await pool.list({ limit: 100 })).map(({ sha256 }) => sha256)).toEqual(sorted('a', 'b'));
});

it('[FILES-26] a backup whose process dies when everything is copied is one, and stays one', async () => {
  await keep('a');
  const backups = new Backups({ store, files, folder: parent, nowMs: () => NOW_MS });
  const { name } = await backups.make();
  const making = join(parent, FILES_FOLDER, `making.${name}`);
  renameSync(join(parent, name, 'files-before.txt'), making);
  const dayLaterMs = NOW_MS + UNFINISHED_BACKUP_MS + 1;
  utimesSync(making, NOW_MS / 1_000, NOW_MS / 1_000);
  const names = async () => (await backupsIn(parent)).map((one) => one.name);
  expect(await names()).toEqual([name]);
  const later = new Backups({ store, files, folder: parent, nowMs: () => dayLaterMs });
  const next = await later.make();
  expect(new Set(await names())).toEqual(new Set([name, next.name]));
  await removeUnneededFiles(parent, dayLaterMs);
  expect([new Set(await names()), existsSync(making)]).toEqual([new Set([name, next.name]), false]);
  expect(await later.verify(name)).toMatchObject({ findings_count: 0 });
});

it('[FILES-26] a folder that a server uses is not touched when its backup was not finished', async () => {
  await keep('a');
  const used = join(parent, 'used');
  await backUp({ store, files }, join(parent, 'one'));
  await (await openStore(testConfig(used))).close();
  const making = join(parent, FILES_FOLDER, 'making.used');
  writeFileSync(making, '');
  await removeUnneededFiles(parent, Date.now() + UNFINISHED_BACKUP_MS);
  expect([existsSync(making), existsSync(join(used, 'tidemark.json'))]).toEqual([false, true]);
});

it('[FILES-26] a backup that fails leaves no sign that it is being made', async () => {
  await keep('a');
  const failing = { backup: () => Promise.reject(new Error('no')) };
  await expect(backUp({ store: failing, files }, join(parent, 'one'))).rejects.toThrow('no');
  expect(readdirSync(join(parent, FILES_FOLDER)).filter((name) => name.startsWith('making.'))).toEqual([]);
});

it('[FILES-28] a damaged file is never copied, and the server finds one that a backup lacks or has damaged', async () => {
  await keep('whole');
  await keep('rotten');
  const sha256 = sha256Of('rotten');
  writeFileSync(join(engine.place, 'files', sha256.slice(0, 2), sha256.slice(2, 4), sha256), 'ROTTEN');
  const backups = new Backups({ store, files, folder: parent, nowMs: () => NOW_MS });
  const { name, files: count, files_wrong } = await backups.make();
  expect([count, files_wrong]).toEqual([2, 1]);
  expect(await listed()).toEqual(sorted('whole'));
  const missing = { source: null, problem: 'missing_file', detail: expect.stringContaining(sha256) };
  expect(await backups.verify(name)).toMatchObject({ findings_count: 1, findings: [missing] });
  writeFileSync(pathOf('whole'), 'WHOLE');
  expect(await backups.verify(name)).toMatchObject({ findings_count: 2 });
  expect(
    readFileSync(join(parent, name, 'files.txt'), 'utf8')
      .trim()
      .split('\n'),
  ).toEqual(sorted('whole', 'rotten'));
});

it('[FILES-28] the backups of a server whose files are in a bucket do not count files', async () => {
  await keep('a');
  const backups = new Backups({ store, files: null, folder: parent, nowMs: () => NOW_MS });
  expect(await backups.make()).toMatchObject({ files: null, files_wrong: null });
  expect(readdirSync(parent)).toEqual([expect.stringMatching(/^2030/)]);
});
