import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { arch, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chartsOf } from './charts.ts';
import { compareCheckouts } from './checkouts.ts';
import { PARTS, type RunSize } from './parts.ts';
import { runPeers } from './peers/run-peers.ts';
import { performancePage } from './performance-page.ts';
import { comparisonOf, type Results, readResults, rowsOf, saveResults } from './results.ts';
import { type Row, verdictOf } from './row.ts';
import { SMALL_FLEET } from './scenarios/valkey-fleet.ts';
import { tableOf } from './table.ts';

const HELP = `Examples
  npm run bench                        all of it, with a document of 200,000 objects
  npm run bench -- --objects 1000000   a larger one
  npm run bench -- --only rest         one part: ${Object.keys(PARTS).join(', ')}
  npm run bench -- --only sizes        what objects and devices take on both engines
  npm run bench -- --only browser      first sync and start of a device in Chromium
  npm run bench -- --only opfs         200,000 objects on the disk of a device in Chromium
  npm run bench -- --only photos       adding photos in Chromium while uploads hang
  npm run bench -- --only disk         200,000 objects on the disk of a device
  npm run bench -- --only console      first rows and memory of the console in Chromium
  npm run bench -- --only fleet        a fleet on Valkey or Redis; larger with
                                       --objects 1000000 --partitions 10000 --devices 100000
  npm run bench -- --only postgres     a connected Postgres database with tables of 1,000,000 rows;
                                       smaller with --objects 20000
  npm run bench -- --json              prints the rows for machines
  npm run bench -- --out FILE          keeps the results there instead of in bench/results/latest.json;
                                       parts that are not measured stay in it as they are
  npm run bench -- --docs              writes docs/explanation/performance.md and its charts, too
  npm run bench -- --docs --from FILE  the same from results that are there already
  npm run bench -- --compare OLD NEW   compares the results of two runs
  npm run bench -- --against FOLDER    compares the CPU time of requests with a server of another checkout,
                                       which must be built
  npm run bench -- peers               Tidemark beside other servers, which it installs; peers --help says more

Ratios compare two things measured in the same run; absolute times mean little on a shared machine.
The exit code is 1 when a bound is broken that is not known to be missed.
`;

/** What follows `peers` are the options of that command. */
const isOfPeers = process.argv[2] === 'peers';

const { values, positionals } = parseArgs({
  args: isOfPeers ? [] : process.argv.slice(2),
  allowPositionals: true,
  options: {
    objects: { type: 'string' },
    partitions: { type: 'string', default: String(SMALL_FLEET.partitions) },
    devices: { type: 'string', default: String(SMALL_FLEET.devices) },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    out: { type: 'string' },
    docs: { type: 'boolean', default: false },
    from: { type: 'string' },
    compare: { type: 'boolean', default: false },
    against: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LATEST = join(ROOT, 'bench', 'results', 'latest.json');
const DOCUMENT_OBJECTS = 200_000;
const DOCUMENT_OBJECTS_MIN = 100_000;
/** Parts whose size is another one than that of the document, and which may be tried small. */
const OWN_SIZES: Readonly<Record<string, number>> = { fleet: SMALL_FLEET.objects, postgres: 1_000_000 };

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function main(): Promise<number> {
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (values.compare) return compareRuns();
  if (values.against !== undefined) {
    process.stdout.write(`${await compareCheckouts(values.against, ROOT, say)}\n`);
    return 0;
  }
  if (values.from !== undefined) return writeDocs(readResults(values.from));
  const size = sizeOfRun();
  if (typeof size === 'string') {
    say(size);
    return 2;
  }
  const { only } = values;
  const parts = only === undefined ? await measureAll(size.objects) : { [only]: await measurePart(only, size) };
  const rows = Object.values(parts).flat();
  process.stdout.write(values.json ? `${JSON.stringify(rows, null, 2)}\n` : `\n${tableOf(rows)}\n`);
  if (!values.json || values.out !== undefined) {
    const results = saveResults(values.out ?? LATEST, { day: today(), machine: machine(), parts });
    if (values.docs) writeDocs(results);
  }
  return rows.some((row) => verdictOf(row) === 'BROKEN') ? 1 : 0;
}

/** The size that the options ask for, or what is wrong with them. */
function sizeOfRun(): RunSize | string {
  const { only } = values;
  const ownSize = OWN_SIZES[only ?? ''];
  if (only !== undefined && !Object.hasOwn(PARTS, only)) return `--only knows ${Object.keys(PARTS).join(', ')}`;
  const objects = Number(values.objects ?? ownSize ?? DOCUMENT_OBJECTS);
  const objectsMin = ownSize === undefined ? DOCUMENT_OBJECTS_MIN : 1;
  const [partitions, devices] = [Number(values.partitions), Number(values.devices)];
  if ([objects - objectsMin, partitions - 1, devices - 1].every(isCount)) return { objects, partitions, devices };
  return `--objects must be a whole number from ${objectsMin}, --partitions and --devices from 1`;
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0;
}

/** Each part in a process of its own, as servers are: what one leaves behind in memory must not slow down the next. */
async function measureAll(objects: number): Promise<Results['parts']> {
  const parts: Record<string, readonly Row[]> = {};
  for (const [name, { isUsual }] of Object.entries(PARTS)) {
    if (isUsual) parts[name] = await measureApart(name, objects);
  }
  return parts;
}

async function measureApart(name: string, objects: number): Promise<readonly Row[]> {
  const args = ['--only', name, '--json', '--objects', String(objects)];
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [text, [code]] = await Promise.all([child.stdout.setEncoding('utf8').toArray(), once(child, 'exit')]);
  // 1 says that a bound is broken, which the rows say themselves.
  if (code !== 0 && code !== 1) throw new Error(`the part ${name} ended with ${code}`);
  return JSON.parse(text.join('')) as readonly Row[];
}

async function measurePart(name: string, size: RunSize): Promise<readonly Row[]> {
  const part = PARTS[name];
  if (part === undefined) throw new Error(`there is no part ${name}`);
  const start = performance.now();
  say(part.title);
  const rows: Row[] = [];
  await part.measure(size, say, (row) => {
    rows.push(row);
    say(`${row.name}: ${row.measured}, against ${row.against}`);
  });
  say(`${name} took ${((performance.now() - start) / 1_000).toFixed(0)} s`);
  return rows;
}

function compareRuns(): number {
  const [old, next] = positionals;
  if (old === undefined || next === undefined) {
    say('--compare needs two files of results');
    return 2;
  }
  process.stdout.write(`${comparisonOf(readResults(old), readResults(next))}\n`);
  return 0;
}

function writeDocs(results: Results): number {
  const images = join(ROOT, 'docs', 'images');
  mkdirSync(images, { recursive: true });
  for (const { file, svg } of chartsOf(rowsOf(results))) writeFileSync(join(images, file), svg);
  writeFileSync(join(ROOT, 'docs', 'explanation', 'performance.md'), performancePage(results));
  return 0;
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** With the load of the last quarter of an hour, the benchmark included: it says how quiet the machine was. */
function machine(): string {
  const load = (loadavg()[2] ?? 0).toFixed(1);
  return `${cpus().length} cores, ${arch()}, Node.js ${process.versions.node}, load ${load}`;
}

process.exitCode = isOfPeers ? await runPeers(process.argv.slice(3)) : await main();
