import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore, openDevice } from '@tidemark/client';
import { openTestServer } from '@tidemark/client-testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT } from './processes.mjs';
import { blocksOf, runSession, sessionOf, startProgram, timeless } from './samples.mjs';

function block(page, language, index = 0) {
  const found = blocksOf(readFileSync(join(ROOT, page), 'utf8')).filter((one) => one.language === language)[index];
  if (found === undefined) throw new Error(`${page} has no ${language} block number ${index}`);
  return found.text;
}

function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-readme-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('README', () => {
  it('[DOCS-1] the five lines of an app run as they stand, and the order reaches the server', async () => {
    const server = await openTestServer({ sources: [{ name: 'Order' }], users: ['ada'] });
    onTestFinished(() => server.close());
    const rendered = [];
    const code = block('README.md', 'js').replace('lovelace-1815', server.password);
    expect(code.trim().split('\n')).toHaveLength(5);
    const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor;
    const run = new AsyncFunction('openDevice', 'openIndexedDbStore', 'render', `${code}; return device;`);
    const open = ({ store }) => openDevice({ url: server.url, platform: server.platform, store });
    const device = await run(open, memoryStore, (list) => rendered.push(list));
    onTestFinished(() => device.close());
    expect(rendered.at(-1)).toMatchObject([{ attributes: { item: 'Compass', price: 12 } }]);
    await device.sync();
    expect(Object.values(await server.objects('Order', { user: 'ada' }))).toEqual([{ item: 'Compass', price: 12 }]);
  });

  it('[DOCS-1] the sample of the core runs as it stands and prints what its README says', () => {
    const page = 'packages/core/README.md';
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', block(page, 'js')], {
      cwd: ROOT,
      env: { ...process.env, TMPDIR: temporaryFolder(), NO_COLOR: '1', FORCE_COLOR: '0' },
      encoding: 'utf8',
    });
    expect(printed).toBe(block(page, 'text'));
  });

  it('[DOCS-2] the commands run as they stand and print what the README says', async () => {
    const first = sessionOf(block('README.md', 'console'));
    const env = { TIDEMARK_PORT: '0', TIDEMARK_DATA: join(temporaryFolder(), 'data') };
    const server = await startProgram(first.commands.at(-1), { lines: first.printed.length, env });
    onTestFinished(server.stop);
    const [url] = /http:\S+/.exec(server.printed[0]) ?? [];
    expect(server.printed.map((line) => line.replaceAll(url, 'http://127.0.0.1:9292'))).toEqual(first.printed);

    const second = sessionOf(block('README.md', 'console', 1));
    const commands = second.commands.map((command) => command.replaceAll('http://127.0.0.1:9292', url));
    expect((await runSession(commands)).map(timeless)).toEqual(second.printed.map(timeless));
  });
});
