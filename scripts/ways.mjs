import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { ROOT, run } from './processes.mjs';
import { openBackend, waysThrough, wayThroughSdk } from './ways/all-ways.mjs';
import { startRecordedServer } from './ways/recorded-server.mjs';
import * as recorder from './ways/recorder.mjs';
import { countsOf, pairsOf, shortestRepeated } from './ways/rooms.mjs';

const USAGE = `usage: npm run ways -- [--checkout FOLDER] [--list WAY] [--out FOLDER]

Counts the functions that one request enters, and how often it goes from one room (package and folder) to another: in all,
without the leaves (clock, names, JSON and other rooms that everybody asks), and from one package to another.
  --checkout FOLDER  of another checkout, which is built, instead of this one
  --list WAY         prints every function that this way enters, in order, and how often it goes between which rooms
  --out FOLDER       writes a list for every way
`;
const OPTIONS = {
  ...{ checkout: { type: 'string' }, list: { type: 'string', multiple: true } },
  ...{ out: { type: 'string' }, help: { type: 'boolean' } },
};
const WARM_UPS = 30;
const RECORDINGS = 7;

/**
 * Records every way through a checkout that is built: name → names of the functions, in order.
 *
 * @param {string} checkout its real path
 * @returns {Promise<Map<string, string[]>>}
 */
async function recordWays(checkout) {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-ways-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  const backend = await openBackend();
  const server = await startRecordedServer(checkout, folder);
  try {
    const ways = await waysThrough(server, backend.url);
    const lists = new Map();
    for (const [name, way] of Object.entries(ways)) lists.set(name, await recordWay(way, server));
    return lists.set('sdk_update_shown', await recordSdk(checkout, server));
  } finally {
    await server.stop();
    backend.close();
  }
}

async function recordSdk(checkout, { url }) {
  recorder.instrumentModules(checkout);
  const { openDevice } = await import(pathToFileURL(join(checkout, 'packages/client/dist/index.js')).href);
  const { way, recording, close } = await wayThroughSdk({ openDevice, url, recorder });
  try {
    return await recordWay(way, recording);
  } finally {
    await close();
  }
}

async function recordWay({ before, go }, recording) {
  for (let times = 0; times < WARM_UPS; times++) {
    await before();
    await go();
  }
  const lists = [];
  while (lists.length < RECORDINGS) {
    await before();
    await recording.startRecording();
    await go();
    lists.push(await recording.stopRecording());
  }
  return shortestRepeated(lists);
}

function tableOf(lists) {
  const rows = [...lists].map(([name, list]) => [name, ...Object.values(countsOf(list)).map(String)]);
  const header = ['way', 'functions', 'files', 'rooms', 'changes of room', 'without leaves', 'of package'];
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)));
  const line = (cells) =>
    cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join('  ');
  return `${[header, ...rows].map(line).join('\n')}\n`;
}

function writeLists(lists, folder) {
  mkdirSync(folder, { recursive: true });
  for (const [name, list] of lists) writeFileSync(join(folder, `${name}.txt`), `${list.join('\n')}\n`);
}

function listText(list) {
  const pairs = pairsOf(list).map(({ rooms, changes }) => `${String(changes).padStart(4)}  ${rooms}\n`);
  return `${list.join('\n')}\n\nchanges between two rooms:\n${pairs.join('')}\n`;
}

async function main() {
  const { checkout, list, out, help } = parseArgs({ options: OPTIONS }).values;
  if (help) return process.stdout.write(USAGE);
  // In another process, because a module that the build has loaded here could not be instrumented any more.
  if (checkout === undefined && (await run(process.execPath, ['scripts/setup.mjs'])) !== 0) process.exit(1);
  const lists = await recordWays(realpathSync(checkout ?? ROOT));
  if (out !== undefined) writeLists(lists, out);
  for (const name of list ?? []) {
    process.stdout.write(lists.has(name) ? listText(lists.get(name)) : `there is no way ${name}\n`);
  }
  process.stdout.write(tableOf(lists));
}

await main();
