import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { useBrowser } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT } from './processes.mjs';
import { blocksOf, runSession, sessionOf, startProgram, timeless } from './samples.mjs';

/** How many lines Vite prints before it has said where it is. */
const VITE_LINES = 4;

const browser = useBrowser();
const blocks = blocksOf(readFileSync(join(ROOT, 'docs/tutorial.md'), 'utf8'));

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The tutorial in a folder and with ports of its own. */
async function openTutorial() {
  const data = mkdtempSync(join(tmpdir(), 'tidemark-tutorial-'));
  const folder = mkdtempSync(join(ROOT, 'tutorial-'));
  onTestFinished(() => {
    for (const path of [data, folder]) rmSync(path, { recursive: true, force: true });
  });
  const ports = { 9292: await freePort(), 5173: await freePort(), 8080: await freePort() };
  const replaced = (text) =>
    Object.entries(ports)
      .reduce((done, [from, to]) => done.replaceAll(from, String(to)), text)
      .replaceAll('tutorial', basename(folder));
  const replacedBack = (text) =>
    Object.entries(ports)
      .reduce((done, [to, from]) => done.replaceAll(String(from), to), text)
      .replaceAll(basename(folder), 'tutorial');
  const env = {
    XDG_CONFIG_HOME: join(data, 'config'),
    TIDEMARK_URL: `http://127.0.0.1:${ports[9292]}`,
    TIDEMARK_PORT: String(ports[9292]),
    TIDEMARK_DATA: join(data, 'data'),
  };
  return { ports, env, replaced, replacedBack };
}

/** Runs the blocks of the page in order. `onCommand` is called before each with its first command. */
async function follow({ env, replaced, replacedBack }, onCommand) {
  const start = async (command, printed, lines = printed.length) => {
    const program = await startProgram(replaced(command), { lines, env });
    onTestFinished(program.stop);
    expect(program.printed.slice(0, printed.length).map(replacedBack)).toEqual(printed);
  };
  for (const { language, name, text } of blocks) {
    if (name !== null) writeFileSync(join(ROOT, replaced(name)), replaced(text));
    if (language !== 'console') continue;
    const { commands, printed } = sessionOf(text);
    await onCommand(commands[0]);
    if (/npm start|^TIDEMARK_BACKEND_SECRET/.test(commands[0])) await start(commands[0], printed);
    else if (commands[0].startsWith('npx vite')) await start(`${commands[0]} --port 5173 --strictPort`, [], VITE_LINES);
    else if (commands[0].startsWith('mkdir')) mkdirSync(join(ROOT, replaced('tutorial')), { recursive: true });
    else {
      const lines = await runSession(commands.map(replaced), { env });
      expect(lines.map(replacedBack).map(timeless)).toEqual(printed.map(timeless));
    }
  }
}

it('[DOCS-5] every command, file and click of the tutorial does what the page says', async () => {
  const tutorial = await openTutorial();
  let page = null;
  const press = (name) => page.getByRole('button', { name }).click();
  const sees = (text) => page.getByText(text).first().waitFor();
  const clicks = {
    'push objects Task --user ada': async () => {
      if (page !== null) await sees('Fix the pump: open');
    },
    'device pull': async () => {
      if (page === null) return;
      await sees('Fix the red pump: open');
      await press('Go offline');
      await press('Done');
      await sees('Fix the red pump: done (not uploaded)');
      await sees('offline, 1 to upload');
    },
    'edit Part 7 stock=-2': async () => {
      page = await browser.openPage(`http://127.0.0.1:${tutorial.ports[9292]}/console/`);
      const open = (name) => page.getByRole('link', { name, exact: true }).first().click();
      await page.getByLabel('Password').fill('correct-horse');
      await press('Sign in');
      await open('Users');
      await open('ada');
      const devices = page.getByRole('table', { name: 'Devices' }).locator('tbody').getByRole('link');
      await devices.nth(1).waitFor();
      expect(await devices.count()).toBe(2);
      await devices.first().click();
      const sources = page.getByRole('table', { name: 'Sources of the device' });
      await sources.getByRole('row', { name: /^Task / }).waitFor();
      await sources.getByRole('button', { name: 'Next page' }).first().click();
      await page.getByRole('region', { name: 'The next page' }).waitFor();
      await page.keyboard.press('Escape');
      await open('Activity');
      await page
        .getByText('Nothing has happened yet.')
        .or(page.getByRole('table', { name: 'Activity' }))
        .waitFor();
    },
    'docs get md': async () => {
      await press('Go online');
      await sees('You set done, the server has blocked.');
      await press('Keep mine');
      await sees('idle, 0 to upload');
      await sees('Fix the red pump: done');
      page = null;
    },
  };
  await follow(tutorial, async (command) => {
    for (const [part, act] of Object.entries(clicks)) if (command.includes(part)) await act();
    const hasServedPage = page === null && command.includes('"title":"Fix the red pump"');
    if (!hasServedPage) return;
    page = await browser.openPage(`http://localhost:${tutorial.ports[5173]}`, { expectedErrors: [/favicon/] });
    await sees('idle, 0 to upload');
    await sees('Fix the pump: open');
  });
  await sees(/update 7: rejected/);
});
