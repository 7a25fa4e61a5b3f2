import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isKept, type Row } from './row.ts';
import { batchWrite } from './scenarios/batch-write.ts';
import { deviceBytes } from './scenarios/device-bytes.ts';
import { deviceFirstSync } from './scenarios/device-first-sync.ts';
import { eventLoop } from './scenarios/event-loop.ts';
import { firstSync } from './scenarios/first-sync.ts';
import { fleetChanges } from './scenarios/fleet-changes.ts';
import { fleetFirstSync } from './scenarios/fleet-first-sync.ts';
import { fleetNoChange } from './scenarios/fleet-no-change.ts';
import { groups } from './scenarios/groups.ts';
import { listening } from './scenarios/listening.ts';
import { liveDelivery } from './scenarios/live-delivery.ts';
import { liveQuery } from './scenarios/live-query.ts';
import { noChange } from './scenarios/no-change.ts';
import { opening } from './scenarios/opening.ts';
import { pageOfAttributes } from './scenarios/page-of-attributes.ts';
import { pageOfTen } from './scenarios/page-of-ten.ts';
import { pingFanOut } from './scenarios/ping-fan-out.ts';
import { pushOne, pushOneApart } from './scenarios/push-one.ts';
import { pushes } from './scenarios/pushes.ts';
import { receipts } from './scenarios/receipts.ts';
import { refresh } from './scenarios/refresh.ts';
import { rest } from './scenarios/rest.ts';
import { sizes } from './scenarios/sizes.ts';
import { twoServers } from './scenarios/two-servers.ts';
import { valkey } from './scenarios/valkey.ts';
import { SMALL_FLEET, valkeyFleet } from './scenarios/valkey-fleet.ts';
import { tableOf } from './table.ts';
import { buildWorld, endWorld } from './world.ts';

const HELP = `Examples
  npm run bench                        all of it, with a document of 1,000,000 objects
  npm run bench -- --objects 200000    a smaller one
  npm run bench -- --only rest         nothing but the REST API; also core, pushes, refresh,
                                       devices, live, queries, sdk, groups, servers, valkey, pings,
                                       receipts
  npm run bench -- --only sizes        what objects and devices take on both engines
  npm run bench -- --only fleet        a fleet on Valkey or Redis; larger with
                                       --objects 1000000 --partitions 10000 --devices 100000
  npm run bench -- --json              for machines

Ratios compare two things measured in the same run; absolute times mean little on a shared machine.
The exit code is 1 when a bound is broken.
`;

const { values } = parseArgs({
  options: {
    objects: { type: 'string' },
    partitions: { type: 'string', default: String(SMALL_FLEET.partitions) },
    devices: { type: 'string', default: String(SMALL_FLEET.devices) },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const DOCUMENT_OBJECTS = 1_000_000;

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function sayRow(row: Row): void {
  say(`${row.name}: ${row.measured}, against ${row.against}`);
}

/** Each part in a process of its own, as servers are: what one leaves behind in memory must not slow down the next. */
async function measureAll(objects: number): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const name of USUAL_PARTS) rows.push(...(await measureApart(name, objects)));
  return rows;
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

async function measureRest(): Promise<readonly Row[]> {
  say('the REST API');
  const rows = await rest();
  rows.forEach(sayRow);
  return rows;
}

async function measurePings(): Promise<readonly Row[]> {
  say('10,000 devices pinged through a stand-in of APNs');
  const rows = await pingFanOut(say);
  rows.forEach(sayRow);
  return rows;
}

async function measureServers(): Promise<readonly Row[]> {
  say('two servers on one store');
  const rows = await twoServers();
  rows.forEach(sayRow);
  return rows;
}

async function measureFleet(objects: number): Promise<readonly Row[]> {
  const [partitions, devices] = [Number(values.partitions), Number(values.devices)];
  const rows = await valkeyFleet({ objects, partitions, devices }, say);
  rows.forEach(sayRow);
  return rows;
}

async function measureSizes(): Promise<readonly Row[]> {
  say('what things take on both engines');
  const rows = await sizes();
  rows.forEach(sayRow);
  return rows;
}

async function measureReceipts(): Promise<readonly Row[]> {
  say('receipts and explanations');
  const rows = await receipts(say);
  rows.forEach(sayRow);
  return rows;
}

async function measureRefresh(): Promise<readonly Row[]> {
  say('refreshing');
  const rows = await refresh(say);
  rows.forEach(sayRow);
  return rows;
}

async function measureDevices(objects: number): Promise<readonly Row[]> {
  say('devices');
  const rows: Row[] = [];
  const measured = (row: Row) => {
    rows.push(row);
    sayRow(row);
  };
  measured(await fleetNoChange(1_000));
  measured(await fleetNoChange(objects));
  for (const row of await fleetChanges()) measured(row);
  for (const row of await fleetFirstSync()) measured(row);
  for (const row of await listening()) measured(row);
  return rows;
}

async function measureLive(): Promise<readonly Row[]> {
  say('a change on its way to devices that listen');
  const rows = await liveDelivery();
  rows.forEach(sayRow);
  return rows;
}

async function measureSdk(): Promise<readonly Row[]> {
  say('first syncs of a device');
  const rows = await deviceFirstSync();
  rows.forEach(sayRow);
  return rows;
}

async function measureQueries(): Promise<readonly Row[]> {
  say('queries of a device');
  const rows = await liveQuery();
  rows.forEach(sayRow);
  return rows;
}

async function measurePushes(): Promise<readonly Row[]> {
  say('pushes over HTTP');
  const rows = await pushes();
  rows.forEach(sayRow);
  return rows;
}

async function measureGroups(): Promise<readonly Row[]> {
  say('groups');
  const rows = await groups();
  rows.forEach(sayRow);
  return rows;
}

async function measureValkey(): Promise<readonly Row[]> {
  say('the engine on Valkey or Redis');
  const rows = await valkey();
  rows.forEach(sayRow);
  return rows;
}

async function measureCore(objects: number): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const measured = (row: Row) => {
    rows.push(row);
    sayRow(row);
  };
  say('bare library and batches');
  measured(await batchWrite(say));
  say(`filling a document with ${objects} objects`);
  const large = await buildWorld(objects, say);
  const small = await buildWorld(1_000, say);
  measured(await pushOne(small, large));
  measured(await pushOneApart(small, large));
  measured(await pageOfTen(small, large));
  measured(await pageOfAttributes(small));
  measured(await noChange(small, large));
  measured(await firstSync(large));
  measured(await deviceBytes(large));
  measured(await eventLoop(small));
  measured(await opening(large));
  await endWorld(large);
  await endWorld(small);
  return rows;
}

const USUAL_PARTS = [
  'core',
  'pushes',
  'refresh',
  'devices',
  'live',
  'queries',
  'sdk',
  'groups',
  'servers',
  'valkey',
  'rest',
  'pings',
  'receipts',
];

const PARTS = {
  all: measureAll,
  core: measureCore,
  pushes: measurePushes,
  refresh: measureRefresh,
  devices: measureDevices,
  live: measureLive,
  queries: measureQueries,
  sdk: measureSdk,
  groups: measureGroups,
  valkey: measureValkey,
  rest: measureRest,
  pings: measurePings,
  servers: measureServers,
  receipts: measureReceipts,
  fleet: measureFleet,
  sizes: measureSizes,
} satisfies Record<string, (objects: number) => Promise<readonly Row[]>>;

const objects = Number(values.objects ?? (values.only === 'fleet' ? SMALL_FLEET.objects : DOCUMENT_OBJECTS));
const objectsMin = values.only === 'fleet' ? 1 : 100_000;
const part = Object.entries(PARTS).find(([name]) => name === (values.only ?? 'all'))?.[1];
if (values.help) process.stdout.write(HELP);
else if (![objects - objectsMin, Number(values.partitions) - 1, Number(values.devices) - 1].every(isCount)) {
  say(`--objects must be a whole number from ${objectsMin}, --partitions and --devices from 1`);
  process.exitCode = 2;
} else if (part === undefined) {
  say(`--only knows ${Object.keys(PARTS).join(', ')}`);
  process.exitCode = 2;
} else {
  const rows = await part(objects);
  process.stdout.write(values.json ? `${JSON.stringify(rows, null, 2)}\n` : `\n${tableOf(rows)}\n`);
  if (!rows.every(isKept)) process.exitCode = 1;
}
