import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Database } from './database.ts';

let folder: TemporaryFolder;
let file: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  file = join(folder.path, 'test.sqlite');
});

afterEach(() => folder.remove());

/** A process that is gone, so that nobody has its number. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['--eval', '']);
  await once(child, 'exit');
  return Number(child.pid);
}

it('[EXAMPLE-5] opens again after its process was killed in the middle of a transaction', async () => {
  const before = new Database(file);
  before.run("INSERT INTO customers (name, address) VALUES ('Brightwater Dairy', 'here')");
  before.close();
  mkdirSync(`${file}.lock`);
  writeFileSync(`${file}.owner`, String(await deadPid()));
  const after = new Database(file);
  expect(after.all('SELECT name FROM customers')).toEqual([{ name: 'Brightwater Dairy' }]);
  after.close();
  expect([existsSync(`${file}.owner`), existsSync(`${file}.lock`)]).toEqual([false, false]);
});

it('[EXAMPLE-5] is not taken from a process that lives', () => {
  writeFileSync(`${file}.owner`, String(process.ppid));
  expect(() => new Database(file)).toThrow(`process ${process.ppid} has ${file} open already`);
});

it('[EXAMPLE-4] a transaction that fails leaves nothing', () => {
  const database = new Database(file);
  const work = () => {
    database.run("INSERT INTO customers (name, address) VALUES ('Brightwater Dairy', 'here')");
    throw new Error('no');
  };
  expect(() => database.transaction(work)).toThrow('no');
  expect(database.all('SELECT * FROM customers')).toEqual([]);
  database.close();
});
