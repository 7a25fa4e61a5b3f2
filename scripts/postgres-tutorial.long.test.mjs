import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { startPostgres } from '@tidemark/testing/kit';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT } from './processes.mjs';
import { blocksOf, runSession, sessionOf, startProgram, timeless } from './samples.mjs';

const WAIT = { timeout: 120_000, interval: 100 };
const blocks = blocksOf(readFileSync(join(ROOT, 'docs/guides/postgres-tutorial.md'), 'utf8'));

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return String(port);
}

function makeFolder(prefix) {
  const folder = mkdtempSync(prefix);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The variables that the page has the reader set, for a server of the test's own. */
async function openDatabase() {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.remove());
  const { url } = await postgres.createDatabase();
  const connector = new URL(url);
  [connector.username, connector.password] = ['tidemark', 'choose-one'];
  return { DATABASE: url, TIDEMARK_POSTGRES_URL: connector.href };
}

it('[PG-331] every command and file of the tutorial about Postgres does what the page says', async () => {
  const [folder, port, database] = [makeFolder(join(ROOT, 'depots-')), await freePort(), await openDatabase()];
  const config = makeFolder(join(tmpdir(), 'tidemark-postgres-tutorial-'));
  const server = {
    TIDEMARK_LOG_LEVEL: 'error',
    TIDEMARK_PORT: port,
    TIDEMARK_URL: `http://127.0.0.1:${port}`,
    XDG_CONFIG_HOME: config,
  };
  const env = { ...database, ...server };
  const replaced = (text) => text.replaceAll('9292', port).replaceAll('depots/', `${basename(folder)}/`);
  const replacedBack = (line) => timeless(line.replaceAll(port, '9292').replaceAll(basename(folder), 'depots'));
  const run = async (commands) => (await runSession(commands.map(replaced), { env })).map(replacedBack);
  for (const { language, name, text } of blocks) {
    if (name !== null) writeFileSync(join(ROOT, replaced(name)), text);
    if (language !== 'console') continue;
    const { commands, printed } = sessionOf(text);
    if (commands[0].endsWith('npm start')) {
      const program = await startProgram(replaced(commands[0]), { lines: printed.length, env });
      onTestFinished(program.stop);
      expect(program.printed.slice(0, printed.length).map(replacedBack)).toEqual(printed);
      continue;
    }
    if (commands[0].includes('device login')) {
      const show = () => run(['npx tidemark sources show Order']);
      await expect.poll(show, WAIT).toContain('filling         false');
    }
    // What the database has changed arrives soon. Other sessions must not run twice.
    const isRepeated = /users set|device pull/.test(commands.join());
    const expected = printed.map(timeless);
    if (isRepeated) await expect.poll(() => run(commands), WAIT).toEqual(expected);
    else expect(await run(commands)).toEqual(expected);
  }
});
