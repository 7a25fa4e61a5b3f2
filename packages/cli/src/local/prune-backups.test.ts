import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { pruneBackups } from '../commands/backup.ts';

let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(() => folder.remove());

function put(name: string, madeS: number, mark: object | null = { product: 'tidemark', state: 'backup' }): string {
  const path = join(folder.path, name);
  mkdirSync(path);
  if (mark === null) return path;
  writeFileSync(join(path, 'tidemark.json'), JSON.stringify(mark));
  utimesSync(join(path, 'tidemark.json'), madeS, madeS);
  return path;
}

it('[CLI-26] pruning keeps the newest backups and deletes the others, whatever their names', async () => {
  put('z-oldest', 1);
  put('a', 2);
  put('b', 3);
  const newest = put('m', 4);
  const deleted = (await pruneBackups(newest, 2)).map((path) => basename(path));
  expect(deleted.sort()).toEqual(['a', 'z-oldest']);
  expect(['a', 'b', 'm', 'z-oldest'].filter((name) => existsSync(join(folder.path, name)))).toEqual(['b', 'm']);
});

it('[CLI-26] pruning never deletes data folders, foreign folders, or the backup just made', async () => {
  put('opened-by-a-server', 1, { product: 'tidemark', state: 'ready' });
  put('photos', 1, null);
  put('foreign', 1, { product: 'other', state: 'backup' });
  const newest = put('new', 0);
  const older = put('old', 9);
  expect(await pruneBackups(newest, 1)).toEqual([older]);
  const left = ['opened-by-a-server', 'photos', 'foreign', 'new'];
  expect(left.every((name) => existsSync(join(folder.path, name)))).toBe(true);
});
