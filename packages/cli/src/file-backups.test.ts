import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readFilePlace } from '@tidemark/core';
import { compose } from '@tidemark/server';
import { backupsIn } from '@tidemark/server/backups/backup-folder';
import { openStore } from '@tidemark/server/open-engines';
import { itLong, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { logIn, type Outcome, runInProcess, silentLog, testConfig } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';

// What was built, in a process of its own that can be killed.
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const PATIENCE = { timeout: 60_000, interval: 1 };
const BOW = 'the bow, from the left';
const STERN = 'the stern';
let home: TemporaryFolder;

beforeAll(async () => {
  home = await temporaryFolder();
});

afterAll(() => home.remove());

const at = (...names: readonly string[]) => join(home.path, ...names);
const sha256Of = (text: string) => createHash('sha256').update(text).digest('hex');

function tidemark(...args: readonly string[]): Promise<Outcome> {
  return runInProcess(args, { env: { HOME: home.path }, folder: home.path });
}

async function answer(...args: readonly string[]) {
  const { code, out, err } = await tidemark(...args, '--json');
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out) as Record<string, unknown>;
}

/** Starts a server on a data folder, and runs commands on it. */
async function withServer<T>(
  data: string,
  work: (call: (...args: readonly string[]) => Promise<Outcome>) => Promise<T>,
) {
  const server = await compose(testConfig(at(data)), silentLog());
  try {
    const env = { HOME: home.path, TIDEMARK_URL: server.url, TIDEMARK_TOKEN: await logIn(server.url) };
    return await work((...args) => runInProcess(args, { env, folder: home.path }));
  } finally {
    await server.close();
  }
}

async function put(data: string, ...texts: readonly string[]): Promise<void> {
  await withServer(data, async (call) => {
    for (const text of texts) {
      await writeFile(at('file.txt'), text);
      expect((await call('files', 'put', 'file.txt')).code).toBe(0);
    }
  });
}

function pathIn(place: string, text: string): string {
  const sha256 = sha256Of(text);
  return at(place, 'files', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
}

async function filesIn(place: string): Promise<readonly string[]> {
  const names = await readdir(at(place, 'files'), { recursive: true });
  return names.map((name) => name.split('/').at(-1) ?? '').filter((name) => name.length === 64);
}

it('[FILES-27] a backup has the files beside it, verify reads them, and a restore brings them back', async () => {
  await put('data', BOW, STERN);
  const made = await answer('backup', 'nightly/one', '--data', 'data');
  expect(made).toMatchObject({ files: { files: 2, bytes: BOW.length + STERN.length, wrong: 0 } });
  expect(await answer('verify', '--data', 'nightly/one')).toMatchObject({ findings: [] });
  await rm(at('data'), { recursive: true });
  expect(await answer('restore', 'nightly/one', '--data', 'data')).toMatchObject({ files: { files: 2, copied: 2 } });
  expect(await readFile(pathIn('data/files', BOW), 'utf8')).toBe(BOW);
  expect((await readdir(at('data'))).sort()).toEqual(['files', 'store.mdb', 'tidemark.json']);
  expect(await answer('verify', '--data', 'data')).toMatchObject({ findings: [] });
  await withServer('data', async (call) => expect((await call('files', 'verify')).code).toBe(0));
});

itLong(
  '[FILES-26] a backup that is killed at any moment is none or whole, and the next one has every file',
  async () => {
    await cp(at('data'), at('killed'), { recursive: true });
    const texts = Array.from({ length: 40 }, (_, index) => `photo ${index}`);
    await put('killed', ...texts);
    const env = { PATH: process.env.PATH ?? '', HOME: home.path };
    // What is there when the process is killed.
    const moments = ['tidemark-files/making.0', '1', '2/store.mdb', '3/files.txt'];
    for (const [index, moment] of moments.entries()) {
      const args = [MAIN, 'backup', `killed-backups/${index}`, '--data', 'killed'];
      const child = spawn(process.execPath, args, { env, cwd: home.path, stdio: 'ignore' });
      const ended = once(child, 'exit');
      await expect.poll(() => child.exitCode !== null || existsSync(at('killed-backups', moment)), PATIENCE).toBe(true);
      child.kill('SIGKILL');
      await ended;
    }
    const whole = await answer('backup', 'killed-backups/last', '--data', 'killed');
    expect(whole).toMatchObject({ files: { files: texts.length + 2, wrong: 0 } });
    for (const { folder } of await backupsIn(at('killed-backups'))) {
      expect(await answer('verify', '--data', folder)).toMatchObject({ findings: [] });
    }
    await answer('restore', 'killed-backups/last', '--data', 'killed', '--yes');
    expect(await answer('verify', '--data', 'killed')).toMatchObject({ findings: [] });
  },
);

it('[FILES-27] a restore leaves the files in the data folder where they are', async () => {
  expect(await answer('restore', 'nightly/one', '--data', 'data', '--yes')).toMatchObject({ files: { copied: 0 } });
  expect([...(await filesIn('data/files'))].sort()).toEqual([sha256Of(BOW), sha256Of(STERN)].sort());
});

it('[FILES-27] a restore reads the files that are in the data folder, and replaces a damaged one', async () => {
  await cp(at('data'), at('spoiled'), { recursive: true });
  await writeFile(pathIn('spoiled/files', BOW), BOW.toUpperCase());
  expect(await answer('restore', 'nightly/one', '--data', 'spoiled', '--yes')).toMatchObject({
    files: { files: 2, copied: 1, wrong: 0 },
  });
  expect(await readFile(pathIn('spoiled/files', BOW), 'utf8')).toBe(BOW);
});

itLong(
  '[FILES-27] files that came after a backup without files stay for the grace period from the restore on',
  async () => {
    await withServer('early', async () => undefined);
    await answer('backup', 'early-backups/one', '--data', 'early');
    await put('early', BOW);
    const beforeMs = Date.now();
    expect(await answer('restore', 'early-backups/one', '--data', 'early', '--yes')).toMatchObject({ files: null });
    const store = await openStore(testConfig(at('early')));
    const place = await readFilePlace(store);
    await store.close();
    expect(place?.sinceMs).toBeGreaterThanOrEqual(beforeMs);
    expect(await filesIn('early/files')).toEqual([sha256Of(BOW)]);
  },
);

it('[FILES-28] verify names each missing and each damaged file, of data and of a backup', async () => {
  await cp(at('data'), at('torn'), { recursive: true });
  await cp(at('nightly'), at('rotten'), { recursive: true });
  const findings = [
    { problem: 'missing_file', detail: expect.stringContaining(sha256Of(STERN)) },
    { problem: 'damaged_file', detail: expect.stringContaining(sha256Of(BOW)) },
  ].sort((one, other) => (String(one.detail) < String(other.detail) ? -1 : 1));
  for (const [data, place] of [
    ['torn', 'torn/files'],
    ['rotten/one', 'rotten/tidemark-files'],
  ] as const) {
    await rm(pathIn(place, STERN));
    await writeFile(pathIn(place, BOW), BOW.toUpperCase());
    const found = await tidemark('verify', '--data', data, '--json');
    const { findings: seen } = JSON.parse(found.out) as { findings: { detail: string }[] };
    expect([found.code, seen.length]).toEqual([1, 2]);
    expect(seen).toEqual(expect.arrayContaining(findings.map((one) => expect.objectContaining(one))));
    expect((await tidemark('verify', '--data', data, '--no-files')).code).toBe(0);
  }
});

it('[FILES-28] a backup of data with missing files is made, and fails with their number', async () => {
  const { code, err } = await tidemark('backup', 'torn-backups/one', '--data', 'torn');
  expect([code, err]).toEqual([1, expect.stringContaining('2 of 2 files are gone or damaged')]);
  expect(await tidemark('verify', '--data', 'torn-backups/one', '--no-files')).toMatchObject({ code: 0 });
});

it('[FILES-29] nothing is restored while a file is missing, unless that is accepted: then it is asked for again', async () => {
  const refused = await tidemark('restore', 'rotten/one', '--data', 'fresh');
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('2 of 2 files are missing or damaged') });
  expect(await readdir(at('fresh'))).toEqual(['files']);
  const elsewhere = await answer('restore', 'rotten/one', '--data', 'other', '--files', 'nightly/tidemark-files');
  expect(elsewhere).toMatchObject({ files: { files: 2, copied: 2, wrong: 0 } });
  const accepted = await tidemark('restore', 'rotten/one', '--data', 'fresh', '--accept-missing');
  expect(accepted).toMatchObject({ code: 0, err: expect.stringContaining('0 of 2 files are in place') });
  expect(accepted.err).toContain('The other 2 are missing or damaged, and are asked for again.');
  expect(await answer('verify', '--data', 'fresh')).toMatchObject({ findings: [] });
});

it('[FILES-30] a server does not start where the files of its data are not, and adopt makes that their place', async () => {
  const other = { ...testConfig(at('other')), files: { ...testConfig(at('other')).files, folder: at('elsewhere') } };
  await expect(compose(other, silentLog())).rejects.toThrow(
    `are in ${at('other', 'files')}, and not in ${at('elsewhere')}`,
  );
  await rename(at('other', 'files'), at('unmounted'));
  await expect(compose(testConfig(at('other')), silentLog())).rejects.toThrow('which holds other files now');
  const env = { HOME: home.path, TIDEMARK_DATA: at('other'), TIDEMARK_FILES_FOLDER: at('elsewhere') };
  const adopt = (...args: readonly string[]) =>
    runInProcess(['files', 'adopt', ...args, '--json'], { env, folder: home.path });
  expect(await adopt()).toMatchObject({ code: 1, err: expect.stringContaining('2 of 2 files are missing') });
  await expect(compose(other, silentLog())).rejects.toThrow(`and not in ${at('elsewhere')}`);
  const adopted = await adopt('--from', 'unmounted');
  expect([adopted.err, JSON.parse(adopted.out)]).toMatchObject(['', { place: at('elsewhere'), copied: 2, wrong: 0 }]);
  await (await compose(other, silentLog())).close();
  expect(await tidemark('verify', '--data', 'other')).toMatchObject({
    code: 1,
    err: expect.stringContaining(`are in ${at('elsewhere')}, and not in`),
  });
});

it('[FILES-31] a migration copies the files to the place of the target', async () => {
  const { code, out } = await tidemark('migrate', '--from', 'data', '--to', 'moved', '--json');
  expect([code, JSON.parse(out)]).toMatchObject([0, { files: { place: at('moved', 'files'), copied: 2, wrong: 0 } }]);
  await withServer('moved', async (call) => expect((await call('files', 'verify')).code).toBe(0));
});
