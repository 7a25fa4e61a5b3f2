import { fork } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { localStoreContract, Rng, seededRandom, temporaryFolder } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LocalRow, LocalStore } from '../ports/local-store.ts';
import { openFileStore } from './file-store.ts';

localStoreContract('the file store', {
  isDurable: true,
  newPlace: async () => {
    const folder = await temporaryFolder();
    return { open: () => openFileStore(folder.path), remove: folder.remove };
  },
});

async function newFolder(): Promise<string> {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  return folder.path;
}

const put = (store: LocalStore, name: string, value: LocalRow['value']) =>
  store.commit([
    { table: 'facts', key: ['', name], value },
    { table: 'objects', key: ['copy', name], value },
  ]);

const factsOf = async (store: LocalStore) =>
  Object.fromEntries((await store.load()).map(({ table, key, value }) => [`${table} ${key[1]}`, value]));

describe('the folder', () => {
  it('[FILE-1] a file that is cut off anywhere holds a whole number of transactions, without a gap', async () => {
    const folder = await newFolder();
    const store = await openFileStore(folder);
    const sizes: number[] = [];
    const file = join(folder, 'device-0.log');
    for (let count = 1; count <= 4; count++) {
      await put(store, 'n', count);
      sizes.push((await readFile(file)).length);
    }
    await store.close();
    const whole = await readFile(file);
    for (let length = 18; length <= whole.length; length++) {
      const place = join(folder, `cut-${length}`);
      await mkdir(place);
      await copyFile(file, join(place, 'device-0.log'));
      await truncate(join(place, 'device-0.log'), length);
      const opened = await openFileStore(place);
      const kept = sizes.filter((size) => size <= length).length;
      expect(await factsOf(opened), `${length} bytes`).toEqual(
        kept === 0 ? {} : { 'facts n': kept, 'objects n': kept },
      );
      // New transactions are appended to the valid part.
      await put(opened, 'after', true);
      await opened.close();
      const again = await openFileStore(place);
      expect(await factsOf(again)).toMatchObject({ 'facts after': true });
      await again.close();
    }
  });

  it('[FILE-2] damage in the middle is reported, and not taken for the end', async () => {
    const folder = await newFolder();
    const store = await openFileStore(folder);
    for (let count = 1; count <= 3; count++) await put(store, 'n', count);
    await store.close();
    const file = join(folder, 'device-0.log');
    const bytes = await readFile(file);
    bytes[30] = (bytes[30] ?? 0) ^ 1;
    await writeFile(file, bytes);
    await expect(openFileStore(folder)).rejects.toMatchObject({ code: 'store_damaged' });
    expect(await readFile(file)).toEqual(bytes);
  });

  it('[FILE-2] a file of another kind is refused and not changed', async () => {
    const folder = await newFolder();
    await writeFile(join(folder, 'device-0.log'), 'something else\n');
    await expect(openFileStore(folder)).rejects.toMatchObject({ code: 'store_damaged' });
    expect(await readFile(join(folder, 'device-0.log'), 'utf8')).toBe('something else\n');
  });

  it('[FILE-3] overwritten and deleted rows are removed from the file by compaction', async () => {
    const folder = await newFolder();
    const store = await openFileStore(folder);
    const text = 'x'.repeat(100_000);
    for (let count = 0; count < 40; count++) await put(store, 'n', text + count);
    await store.close();
    const files = (await readdir(folder)).filter((name) => name.endsWith('.log'));
    expect(files).toHaveLength(1);
    const [file = ''] = files;
    expect(file).not.toBe('device-0.log');
    expect((await readFile(join(folder, file))).length).toBeLessThan(2_500_000);
    const again = await openFileStore(folder);
    expect(await factsOf(again)).toEqual({ 'facts n': `${text}39`, 'objects n': `${text}39` });
    await again.close();
  });

  it('[FILE-3] a file whose compaction was interrupted is ignored', async () => {
    const folder = await newFolder();
    const store = await openFileStore(folder);
    await put(store, 'n', 1);
    await store.close();
    await writeFile(join(folder, 'device-1.log.new'), 'tidemark-device 1\n');
    const again = await openFileStore(folder);
    expect(await factsOf(again)).toEqual({ 'facts n': 1, 'objects n': 1 });
    await again.close();
    expect(await readdir(folder)).toEqual(['device-0.log']);
  });

  it('[FILE-4] a folder belongs to one device at a time, and the lock of a dead process is void', async () => {
    const folder = await newFolder();
    const store = await openFileStore(folder);
    await expect(openFileStore(folder)).rejects.toMatchObject({ code: 'store_in_use' });
    await store.close();
    const child = fork(join(import.meta.dirname, '../../dist/stores/file-store.js'));
    const { pid } = child;
    await once(child, 'exit');
    await writeFile(join(folder, 'lock'), `${pid}\n`);
    await (await openFileStore(folder)).close();
    await writeFile(join(folder, 'lock'), `${process.ppid}\n`);
    await expect(openFileStore(folder)).rejects.toMatchObject({ code: 'store_in_use' });
    await writeFile(join(folder, 'lock'), '');
    await (await openFileStore(folder)).close();
  });
});

/** A child process that commits 1, 2, 3 … to two tables at once and reports each commit. */
const WRITER = `
import { openFileStore } from ${JSON.stringify(new URL('../../dist/stores/file-store.js', import.meta.url).href)};
const store = await openFileStore(process.argv[2]);
const filler = 'x'.repeat(20_000);
for (let n = Number(process.argv[3]); ; n++) {
  await store.commit([
    { table: 'facts', key: ['', 'n'], value: n },
    { table: 'objects', key: ['s', String(n % 5)], value: { n, filler } },
    { table: 'uploads', key: ['', 'n'], value: n },
  ]);
  process.send(n);
}
`;

describe('a process killed at any moment', () => {
  it('[FILE-5] a killed process loses no reported commit and leaves none partly applied', async () => {
    const folder = await newFolder();
    const script = join(folder, 'writer.mjs');
    await writeFile(script, WRITER);
    const place = join(folder, 'device');
    const rng = new Rng(seededRandom(3));
    let reported = 0;
    for (let life = 0; life < 8; life++) {
      const child = fork(script, [place, String(reported + 1)]);
      const target = reported + rng.between(1, 60);
      child.on('message', (n: number) => {
        reported = n;
        if (n >= target) child.kill('SIGKILL');
      });
      await once(child, 'exit');
      const store = await openFileStore(place);
      const facts = new Map((await store.load()).map(({ table, key, value }) => [`${table} ${key[1]}`, value]));
      const kept = facts.get('facts n') as number;
      expect(kept).toBeGreaterThanOrEqual(reported);
      expect(kept).toBeLessThanOrEqual(reported + 1);
      expect(facts.get('uploads n')).toBe(kept);
      expect(facts.get(`objects ${kept % 5}`)).toMatchObject({ n: kept });
      reported = kept;
      await store.close();
    }
  });
});
