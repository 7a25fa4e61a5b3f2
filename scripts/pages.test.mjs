import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openKeyValueStore } from '@tidemark/client/key-value-store';
import { openTestServer } from '@tidemark/client-testing';
import { startTestServer } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT } from './processes.mjs';
import { blocksOf, runSession, sessionOf, timeless } from './samples.mjs';

const readPage = (path) => readFileSync(join(ROOT, 'docs', path), 'utf8');

it('[DOCS-7] the commands of the guide to importing print what it says', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const cwd = mkdtempSync(join(tmpdir(), 'tidemark-import-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const sessions = blocksOf(readPage('guides/import.md')).filter(({ language }) => language === 'console');
  expect(sessions).toHaveLength(2);
  for (const { text } of sessions) {
    const { commands, printed } = sessionOf(text);
    const env = { TIDEMARK_URL: server.url, TIDEMARK_TOKEN: server.token };
    expect((await runSession(commands, { env, cwd })).map(timeless)).toEqual(printed.map(timeless));
  }
});

it('[DOCS-7] the commands of the guide to schemas print what it says', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const cwd = mkdtempSync(join(tmpdir(), 'tidemark-schemas-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const sessions = blocksOf(readPage('guides/schemas.md')).filter(({ language }) => language === 'console');
  expect(sessions).toHaveLength(2);
  for (const { text } of sessions) {
    const { commands, printed } = sessionOf(text);
    const env = { TIDEMARK_URL: server.url, TIDEMARK_TOKEN: server.token };
    expect((await runSession(commands, { env, cwd })).map(timeless)).toEqual(printed.map(timeless));
  }
});

it('[DOCS-7] the samples of the guide to conflicts do what it says', async () => {
  const [told, merging] = blocksOf(readPage('guides/conflicts.md')).filter(({ language }) => language === 'ts');
  const server = await openTestServer({ sources: [{ name: 'Order', conflicts: 'detect' }], users: ['ada'] });
  onTestFinished(() => server.close());
  await server.push('Order', { o1: { note: 'a', total: 1 } }, { user: 'ada' });
  const conflict = async (device, note) => {
    await device.sync();
    server.network.goOffline();
    await device.source('Order').update('o1', { note: 'mine' });
    await server.push('Order', { o1: { note } }, { user: 'ada' });
    server.network.goOnline();
    await device.sync();
  };

  const said = [];
  const device = await server.openDevice({ user: 'ada' });
  new Function('device', 'console', told.text)(device, { log: (...words) => said.push(words) });
  await conflict(device, 'theirs');
  expect(said).toEqual([['Order', 'o1', 'mine:', { note: 'mine' }, 'theirs:', { note: 'theirs', total: 1 }]]);

  const merge = new Function(`${merging.text}; return merge;`)();
  const other = await server.openDevice({ user: 'ada', merge });
  await conflict(other, 'theirs again');
  await other.sync();
  expect(await server.objects('Order', { user: 'ada' })).toEqual({ o1: { note: 'theirs again\nmine', total: 1 } });
});

it('[DOCS-7] the samples of the guide to photos and documents do what it says', async () => {
  const samples = blocksOf(readPage('guides/photos-and-documents.md')).filter(({ language }) => language === 'ts');
  const [attach, show, say, decide, choose, native] = samples.map(({ text }) => text);
  const run = (text, result, given) =>
    new Function(...Object.keys(given), `return (async () => { ${text}; return ${result}; })()`)(
      ...Object.values(given),
    );
  const server = await openTestServer({ sources: [{ name: 'Visit' }], users: ['ada'] });
  onTestFinished(() => server.close());
  const device = await server.openDevice({ user: 'ada' });
  await device.sync();
  server.network.goOffline();
  const input = { files: [new File(['a roof'], 'roof.jpg', { type: 'image/jpeg' })] };
  const visit = await run(attach, 'visit', { device, input });
  const image = { src: '' };
  const release = await run(show, 'release', { device, visit, image });
  expect(await (await fetch(image.src)).text()).toBe('a roof');
  release();
  await expect(fetch(image.src)).rejects.toThrow();
  const label = { textContent: '' };
  const waiting = await run(say, 'waiting', { device, label });
  expect(label.textContent).toBe('1 photos to send');
  server.network.goOnline();
  await expect.poll(() => label.textContent, { timeout: 60_000 }).toBe('All photos have arrived');
  expect([...server.files.values()].map((bytes) => new TextDecoder().decode(bytes))).toEqual(['a roof']);
  await run(decide, 'null', { device, waiting });

  const storage = {
    getAllKeys: async () => [],
    multiGet: async () => [],
    multiSet: async () => {},
    multiRemove: async () => {},
  };
  const store = await run(native, 'store', { ...fakeExpo(), openKeyValueStore, storage });
  const phone = await run(choose, 'device', {
    url: server.url,
    store,
    openDevice: (options) => server.openDevice({ ...options, url: undefined, user: 'ada' }),
  });
  const { $file } = await phone.files.add(new TextEncoder().encode('a plan'), { name: 'plan.txt' });
  expect(await (await phone.files.blob($file)).text()).toBe('a plan');
  await phone.files.discard($file).catch(() => undefined);
});

/** The part of expo-file-system that the guide uses, in memory. */
function fakeExpo() {
  const entries = new Map();
  class File {
    constructor(_folder, name) {
      this.name = name;
    }
    get exists() {
      return entries.has(this.name);
    }
    bytes() {
      return entries.get(this.name);
    }
    write(bytes) {
      entries.set(this.name, bytes);
    }
    delete() {
      entries.delete(this.name);
    }
  }
  class Directory {
    create() {}
    list() {
      return [...entries.keys()].map((name) => ({ name }));
    }
  }
  return { Directory, File, Paths: { document: 'documents' } };
}
