import { execFile } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createContext, Script } from 'node:vm';
import { findProgram, newDeviceFixture, temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { bundleWithMetro } from '../test-app/metro-bundle.ts';

const run = promisify(execFile);
const read = (path: string) => readFile(new URL(path, import.meta.url), 'utf8');
const SERVER = 'http://tidemark.test';
const OUTPUT_BYTES_MAX = 100_000_000;
/** They are not in the lock file, because nothing but this needs them. */
const TOOLS = ['hermes-engine-cli@0.12.0', '@react-native/babel-preset@0.83.9', '@babel/core@7.28.5'];

interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly body: string | null;
  readonly answer: { readonly status: number; readonly text: string };
}

async function newFolder(): Promise<string> {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  return folder.path;
}

async function bundleApp(tools: string): Promise<string> {
  const install = ['install', '--prefix', tools, '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
  await run('npm', [...install, ...TOOLS]);
  const modules = { 'system.js': await read('../test-app/system.js'), 'app.js': await read('../test-app/app.js') };
  return bundleWithMetro({ modules, packages: ['client', 'protocol', 'react-native'], tools });
}

/** Runs the app in Node.js with a server. Returns what its user has seen, and what it said with the server. */
async function runWithServer(script: string) {
  const fixture = await newDeviceFixture();
  const objectOf = (at: number) => ({ name: `Größe 😀 ${at}`, place: at % 3 === 0 ? 'Zürich' : 'Ulm' });
  const objects = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`o${at}`, objectOf(at)]));
  await fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects });
  const exchanges: Exchange[] = [];
  const answer = async (method: string, url: string, body: string | null) => {
    const authorization = `Bearer ${tokenIn(exchanges)}`;
    const response = await fixture.sync.fetch(url, { method, body, headers: { authorization } });
    const exchange = { method, url, body, answer: { status: response.status, text: await response.text() } };
    exchanges.push(exchange);
    return exchange.answer;
  };
  const context = createContext({ setTimeout, print: () => undefined });
  new Script(script).runInContext(context);
  const seen: unknown = await context.runApp(context.makeSystem(SERVER, answer));
  return { seen: JSON.parse(JSON.stringify(seen)), exchanges };
}

function tokenIn([first]: readonly Exchange[]): string {
  return first === undefined ? '' : JSON.parse(first.answer.text).token;
}

/** A program that runs the app in a bare engine, with the same answers to the same requests. */
function programOf(script: string, exchanges: readonly Exchange[]): string {
  return `${script}
const exchanges = ${JSON.stringify(exchanges)};
// Hermes has no asynchronous functions of its own.
const answer = (method, url, body) => {
  const at = exchanges.findIndex((one) => one.method === method && one.url === url && one.body === body);
  if (at < 0) throw new Error('another request than in Node.js: ' + method + ' ' + url + ' ' + body);
  return Promise.resolve(exchanges.splice(at, 1)[0].answer);
};
runApp(makeSystem(${JSON.stringify(SERVER)}, answer)).then(
  (seen) => print(JSON.stringify({ seen, left: exchanges.length })),
  (error) => print(JSON.stringify({ error: String(error), stack: (error.cause || error).stack })),
);`;
}

it('[PHONE-50] an app that Metro bundled does the same in Hermes, in JavaScriptCore and in Node.js', async () => {
  const tools = await newFolder();
  const script = await bundleApp(tools);
  const { seen, exchanges } = await runWithServer(script);
  expect(seen).toMatchObject({
    count: 3_000,
    rows: [{ id: 'o999' }, { id: 'o996' }, { id: 'o993' }],
    waiting: 2,
    pending: 0,
    again: 3_001,
    offline: 'offline',
    edited: { name: 'seven 😀', place: 'Ulm' },
    deleted: null,
    problems: [],
    heals: 0,
  });
  expect(exchanges.filter(({ url }) => url.includes('/snapshot'))).toHaveLength(1);

  const file = join(tools, 'app.js');
  await writeFile(file, programOf(script, exchanges));
  const hermes = join(tools, 'node_modules/hermes-engine-cli/linux64-bin/hermes');
  await chmod(hermes, 0o755);
  const jsc = findProgram({ names: ['jsc'], variable: 'TIDEMARK_JSC' });
  for (const engine of [hermes, jsc]) {
    const { stdout } = await run(engine, [file], { maxBuffer: OUTPUT_BYTES_MAX });
    expect([engine, JSON.parse(stdout)]).toEqual([engine, { seen, left: 0 }]);
  }
});
