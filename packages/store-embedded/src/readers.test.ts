import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { openEmbeddedStore } from './open-store.ts';
import { MAP_BYTES, openTables } from './tables.ts';

/** A program that opens the store, begins a read transaction, prints a line, and waits to be killed. */
const READER = `
  const { openTables, MAP_BYTES } = await import(process.argv[1]);
  const tables = openTables(process.argv[2], { mapBytes: MAP_BYTES });
  tables.root.useReadTransaction();
  tables.meta.get('epoch');
  console.log('reading');
  setTimeout(() => {}, 600_000);
`;

it('[EMB-8] the slot of a reader that died with its process is cleared while the store is open', async () => {
  const folder = await temporaryFolder();
  const store = await openEmbeddedStore({ folder: folder.path, readerCheckMs: 20 });
  const file = join(folder.path, 'store.mdb');
  const tables = openTables(file, { mapBytes: MAP_BYTES });
  onTestFinished(async () => {
    await tables.root.close();
    await store.close();
    await folder.remove();
  });
  const built = new URL('../dist/tables.js', import.meta.url).href;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', READER, built, file]);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const isListed = () => tables.root.readerList().includes(` ${child.pid} `);
  expect(isListed()).toBe(true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await expect.poll(isListed).toBe(false);
});
