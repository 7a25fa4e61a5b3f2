import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ApiDocument,
  Caller,
  endpointsOf,
  makeUser,
  openDevice,
  openRaw,
  type Reply,
  Rng,
  type ServerProcess,
  seededRandom,
  startServerProcess,
  startValkey,
  type TestDevice,
} from '@tidemark/testing/kit';
import type { Command } from '../runner/command.ts';
import { leastUsage, type ResourceUsage, usageProblems } from './resource-usage.ts';
import { drawTornBytes, LARGE_SOURCE, type TornTarget } from './torn-request.ts';

export interface TornOptions {
  readonly store: 'embedded' | 'valkey';
  readonly seed: number;
  /** Asked before each socket; true ends the run. */
  readonly isEnough: (torn: number) => boolean;
}

export interface TornReport {
  readonly torn: number;
  readonly before: ResourceUsage;
  readonly after: ResourceUsage;
  readonly problems: readonly string[];
}

const DEVICES = 8;
const OBJECTS = 2_000;
const WORKERS = 24;
/** Sockets torn before the first measurement, so that caches and pools are filled. */
const WARM_UP = 200;
const STAY_MS_MAX = 40;
const FIRST_BYTE_MS_MAX = 500;
/** Streams and open sockets end by themselves within this time. */
const SETTLE_MS = 2_500;
const SETTLE_ATTEMPTS_MAX = 20;
const COLLECT_GARBAGE: NodeJS.Signals = 'SIGUSR2';
/** Makes a process collect its garbage when it gets the signal, so that what its heap still holds is in use. */
const GARBAGE_COLLECTOR = `data:text/javascript,${encodeURIComponent(`
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
setFlagsFromString('--expose-gc');
const collectAll = runInNewContext('gc');
// With an argument it would collect new objects only.
process.on('${COLLECT_GARBAGE}', () => collectAll());
`)}`;
/** Routes that would delete the data of the test, or call another host. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  '/rc/v1/system/reset',
  '/rc/v1/system/appserver',
  // A device that was wiped answers nothing any more.
  '/rc/v1/clients/{client_id}/wipe',
]);

/** Closes sockets of a server process at any moment, and compares its resource usage before and after. */
export async function runTornSockets({ store, seed, isEnough }: TornOptions): Promise<TornReport> {
  const valkey = store === 'valkey' ? await startValkey() : null;
  const storeSetting: Record<string, string> = valkey === null ? {} : { TIDEMARK_STORE: valkey.address };
  // The server notices a dead stream at its next heartbeat, so a short one lets it settle soon.
  const server = await startServerProcess({
    TIDEMARK_LOG_LEVEL: 'silent',
    TIDEMARK_DEVICES_HEARTBEAT_S: '1',
    NODE_OPTIONS: `--import=${GARBAGE_COLLECTOR}`,
    ...storeSetting,
  });
  try {
    return await tearAndCompare(server, new Rng(seededRandom(seed)), isEnough);
  } finally {
    await server.stop();
    await valkey?.remove();
  }
}

async function tearAndCompare(server: ServerProcess, rng: Rng, isEnough: TornOptions['isEnough']): Promise<TornReport> {
  const { admin, devices, target } = await populate(server);
  const [listener] = devices;
  if (listener === undefined) throw new Error('there is no device');
  const measure = () => {
    process.kill(server.pid, COLLECT_GARBAGE);
    return leastUsage(admin, () => pullAll(listener));
  };
  await tearSockets(server, target, rng, (torn) => torn >= WARM_UP);
  const before = await settled(measure);
  const torn = await tearSockets(server, target, rng, isEnough);
  const after = await settled(measure, before);
  const problems = [...usageProblems(before, after), ...(await serviceProblems(admin, listener))];
  admin.close();
  for (const { api } of devices) api.close();
  return { torn, before, after, problems };
}

/** Measures until there are no problems, a bounded number of times. */
async function settled(measure: () => Promise<ResourceUsage>, before?: ResourceUsage): Promise<ResourceUsage> {
  for (let attempt = 1; ; attempt++) {
    await sleep(SETTLE_MS);
    const usage = await measure();
    if (attempt === SETTLE_ATTEMPTS_MAX || usageProblems(before ?? usage, usage).length === 0) return usage;
  }
}

async function populate({ url, adminPassword }: ServerProcess) {
  const door = new Caller(url, null);
  const { text: adminToken } = await door.post('/rc/v1/system/login', { login: 'admin', password: adminPassword });
  door.close();
  const admin = new Caller(url, adminToken);
  const { body } = await admin.get('/openapi.json');
  const endpoints = endpointsOf(body as ApiDocument).filter(({ template }) => !LEFT_OUT.has(template));
  await admin.post('/rc/v1/sources', { name: LARGE_SOURCE, partition_type: 'user' });
  await makeUser({ url, token: adminToken }, 'torn');
  const objects = Object.fromEntries(
    Array.from({ length: OBJECTS }, (_, n) => [`o${n}`, { text: `${n} `.repeat(200) }]),
  );
  const pushed = await admin.post(`/app/v1/${LARGE_SOURCE}/fast_insert`, { user_id: 'torn', objects });
  if (pushed.status !== 200) throw new Error(`the objects were not pushed: ${pushed.text}`);
  const devices: TestDevice[] = [];
  for (let count = 0; count < DEVICES; count++) devices.push(await openDevice({ url }, 'torn'));
  // The first device sends ordinary requests only.
  const target: TornTarget = { endpoints, adminToken, devices: devices.slice(1).map(({ session }) => session) };
  return { admin, devices, target };
}

async function tearSockets(
  { url }: ServerProcess,
  target: TornTarget,
  rng: Rng,
  isEnough: TornOptions['isEnough'],
): Promise<number> {
  const port = Number(new URL(url).port);
  let torn = 0;
  const work = async () => {
    while (!isEnough(torn)) {
      torn++;
      await tearOne(port, drawTornBytes(target, rng), rng);
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  return torn;
}

async function tearOne(port: number, bytes: string, rng: Rng): Promise<void> {
  const socket = openRaw(port);
  // Registered at once: the server may close the socket first.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(bytes);
  if (rng.chance(50)) socket.resume();
  if (rng.chance(30)) {
    const firstByte = new Promise((resolve) => socket.once('readable', resolve).once('close', resolve));
    await Promise.race([firstByte, sleep(FIRST_BYTE_MS_MAX)]);
  } else await sleep(rng.below(STAY_MS_MAX));
  const isReset = rng.chance(50);
  if (isReset) socket.resetAndDestroy();
  else socket.destroy();
  await closed;
}

/** Checks that the server still answers ordinary requests. */
async function serviceProblems(admin: Caller, device: TestDevice): Promise<readonly string[]> {
  const large = await admin.post('/rc/v1/store/large', { data: 'x'.repeat(9_000_000) });
  const events = await device.api.get('/sync/v1/events');
  const pull = await pullAll(device);
  const answers = { 'a large body': large, 'an event stream': events, 'a pull': pull };
  return Object.entries(answers)
    .filter(([, { status }]) => status !== 200)
    .map(([what, { status, text }]) => `${what} was answered ${status}: ${text.slice(0, 500)}`);
}

function pullAll({ api, id }: TestDevice): Promise<Reply> {
  return api.post('/sync/v1/pull', { client_id: id, sources: { [LARGE_SOURCE]: {} } });
}

const MINUTES_DEFAULT = 10;
const PROGRESS_EVERY = 5_000;

export const tornSocketsCommand: Command = {
  name: 'torn-sockets',
  summary: 'Callers that hang up at any moment, at every route; fails when the server keeps resources.',
  options: [
    { name: 'minutes', value: 'N', help: `how long sockets are torn (default ${MINUTES_DEFAULT})` },
    { name: 'store', value: 'S', help: 'embedded (default) or valkey' },
    { name: 'seed', value: 'S', help: 'the seed of the run (default: random)' },
  ],
  run: async (options) => {
    const minutes = options.number('minutes', 1) ?? MINUTES_DEFAULT;
    const store = options.choice('store', ['embedded', 'valkey']);
    const seed = options.number('seed') ?? Date.now() % 1_000_000;
    process.stderr.write(`seed ${seed}: tearing sockets for ${minutes} minutes, ${store} store\n`);
    const { torn, before, after, problems } = await runTornSockets({ store, seed, isEnough: timer(minutes) });
    process.stdout.write(`${torn} sockets torn\nbefore ${JSON.stringify(before)}\nafter  ${JSON.stringify(after)}\n`);
    for (const problem of problems) process.stdout.write(`${problem}\n`);
    return problems.length === 0 ? 0 : 1;
  },
};

/** Returns true when the minutes since the first socket have passed. */
function timer(minutes: number): (torn: number) => boolean {
  let endMs = Number.POSITIVE_INFINITY;
  return (torn) => {
    if (torn === 0) endMs = Math.min(endMs, performance.now() + minutes * 60_000);
    if (torn > 0 && torn % PROGRESS_EVERY === 0) process.stderr.write(`${torn} sockets torn\n`);
    return performance.now() >= endMs;
  };
}
