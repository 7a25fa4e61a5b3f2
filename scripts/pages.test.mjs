import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
