import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { compose, type Running, readConfig } from '@tidemark/server';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { newApnsKey, TEST_ONLY_CERTIFICATE } from '@tidemark/testing';
import { ApnsService } from '../apns-service.ts';
import { type BareLoad, sendBare } from '../bare-apns-client.ts';
import { newFolder, tidemarkOn } from '../fixture.ts';
import { median } from '../measure.ts';
import type { Row } from '../row.ts';

const USERS = 100;
const DEVICES_PER_USER = 100;
const DEVICES = USERS * DEVICES_PER_USER;
const ROUNDS = 3;
const UNDER_WAY = 1_000;
const CONNECTIONS_MAX = 4;
const PASSWORD = 'only for this benchmark';
const LOOK_EVERY_MS = 100;
const IDENTITY = { key: newApnsKey(), keyId: 'BENCH00000', teamId: 'BENCHTEAM0', topics: ['com.example.bench'] };

const tokenOf = (index: number) => index.toString(16).padStart(64, '0');
const loginOf = (index: number) => `user-${index}`;

/**
 * How fast a ping to 10,000 devices leaves, each with its job and its result kept on the disk, against the bare sending of
 * as many requests: as the stand-in sees it, from the first to the last. Both take turns, since the machine may be busy.
 */
export async function pingFanOut(say: (line: string) => void): Promise<readonly Row[]> {
  const folder = newFolder();
  await registerDevices(folder, say);
  const services = { ours: await ApnsService.open(IDENTITY), bare: await ApnsService.open(IDENTITY) };
  const server = await openServer(folder, services.ours.origin);
  const ping = await pinger(server);
  const oursMs: number[] = [];
  const bareMs: number[] = [];
  const heap: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const bareCpuUs = await cpuUsOf(() => sendBare(bareLoad(services.bare.origin)));
    bareMs.push((await services.bare.counts()).tookMs);
    const oursCpuUs = await cpuUsOf(() => ping(`round ${round}`));
    oursMs.push((await services.ours.counts()).tookMs);
    heap.push(heapBytes());
    say(`  round ${round}: ${perSecond(oursMs.at(-1) ?? 0)}/s by us, ${perSecond(bareMs.at(-1) ?? 0)}/s bare`);
    say(`    CPU of this process: ${perDevice(oursCpuUs)} a ping by us, ${perDevice(bareCpuUs)} bare`);
  }
  const { taken, connectionsMostAtOnce } = await services.ours.counts();
  await server.close();
  for (const service of Object.values(services)) await service.close();
  rmSync(folder, { recursive: true, force: true });
  if (taken !== DEVICES * (ROUNDS + 1)) throw new Error(`the stand-in was sent ${taken} pings`);
  // The first round warms both up.
  const rounds = oursMs.map((ours, round) => ({ ours, bare: bareMs[round] ?? 0 })).slice(1);
  return [speedRow(rounds), connectionsRow(connectionsMostAtOnce), memoryRow(heap)];
}

async function registerDevices(folder: string, say: (line: string) => void): Promise<void> {
  say(`  registering ${DEVICES} devices`);
  const store = await openEmbeddedStore({ folder });
  const { users, clients } = tidemarkOn(store);
  for (let user = 0; user < USERS; user++) {
    await users.ensure(loginOf(user));
    const devices = Array.from({ length: DEVICES_PER_USER }, (_, index) => user * DEVICES_PER_USER + index);
    await Promise.all(
      devices.map((index) =>
        clients.register(loginOf(user), { client_id: `d${index}`, device_type: 'ios', device_pin: tokenOf(index) }),
      ),
    );
  }
  await store.close();
}

function openServer(folder: string, origin: string): Promise<Running> {
  const ca = join(folder, 'ca.pem');
  writeFileSync(ca, TEST_ONLY_CERTIFICATE);
  const env = {
    TIDEMARK_PORT: '0',
    TIDEMARK_DATA: folder,
    TIDEMARK_ADMIN_PASSWORD: PASSWORD,
    TIDEMARK_PING_APNS_KEY: IDENTITY.key,
    TIDEMARK_PING_APNS_KEY_ID: IDENTITY.keyId,
    TIDEMARK_PING_APNS_TEAM_ID: IDENTITY.teamId,
    TIDEMARK_PING_APNS_TOPICS: IDENTITY.topics[0] ?? '',
    TIDEMARK_PING_APNS_URL: origin,
    TIDEMARK_PING_CA_FILE: ca,
    // Nothing but the work itself shall limit the pace.
    TIDEMARK_PING_CONCURRENCY: String(UNDER_WAY),
    TIDEMARK_PING_RATE_PER_S: '100000',
    TIDEMARK_PING_SPREAD_PER_S: '1000000',
  };
  return compose(readConfig(env), { debug() {}, info() {}, warn() {}, error() {} });
}

/** Pings everybody and waits for the last result. */
async function pinger({ url }: Running): Promise<(message: string) => Promise<void>> {
  const json = { 'content-type': 'application/json' };
  const login = { login: 'admin', password: PASSWORD };
  const token = await call(`${url}/rc/v1/system/login`, { method: 'POST', headers: json, body: JSON.stringify(login) });
  const headers = { ...json, 'x-sync-api-token': token };
  const user_id = Array.from({ length: USERS }, (_, index) => loginOf(index));
  return async (message) => {
    const body = JSON.stringify({ user_id, message });
    const { ping_id: id } = JSON.parse(await call(`${url}/rc/v1/users/ping`, { method: 'POST', headers, body }));
    for (;;) {
      const ping = JSON.parse(await call(`${url}/rc/v1/pings/${id}?limit=1`, { headers }));
      if (ping.accepted === DEVICES) return;
      if (ping.pending === 0) throw new Error(`not every device was reached: ${JSON.stringify(ping)}`);
      await sleep(LOOK_EVERY_MS);
    }
  };
}

async function call(url: string, init: RequestInit): Promise<string> {
  const response = await fetch(url, init);
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  return text;
}

function bareLoad(origin: string): BareLoad {
  return {
    origin,
    ca: TEST_ONLY_CERTIFICATE,
    identity: IDENTITY,
    devices: Array.from({ length: DEVICES }, (_, index) => tokenOf(index)),
    body: JSON.stringify({ aps: { alert: { body: 'round 0' }, 'content-available': 1 }, ping_id: 'x', do_sync: [] }),
    connections: CONNECTIONS_MAX,
    underWay: UNDER_WAY,
  };
}

function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  return process.memoryUsage().heapUsed;
}

/** The ratio is taken round by round: what else the machine does then hits both alike. */
function speedRow(rounds: readonly { readonly ours: number; readonly bare: number }[]): Row {
  return {
    name: 'ping 10,000 devices through APNs, sends/s',
    measured: perSecond(median(rounds.map(({ ours }) => ours))),
    against: `${perSecond(median(rounds.map(({ bare }) => bare)))} bare, which is what the stand-in takes`,
    ratio: median(rounds.map(({ ours, bare }) => bare / ours)),
    bound: { atLeast: 0.5 },
  };
}

function connectionsRow(connections: number): Row {
  return {
    name: 'connections to APNs for 10,000 devices',
    measured: String(connections),
    against: `${CONNECTIONS_MAX} allowed`,
    ratio: connections / CONNECTIONS_MAX,
    bound: { atMost: 1 },
  };
}

/** What the heap holds after the last fan-out, against after the first. */
function memoryRow(heap: readonly number[]): Row {
  const [first = 0, last = 0] = [heap[0], heap.at(-1)];
  return {
    name: `heap after ${ROUNDS + 1} fan-outs`,
    measured: megabytes(last),
    against: `${megabytes(first)} after one`,
    ratio: last / first,
    bound: { atMost: 1.2 },
  };
}

/** What all threads of this process have spent meanwhile; the stand-in is another process. */
async function cpuUsOf(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function perDevice(us: number): string {
  return `${Math.round(us / DEVICES)} µs`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function perSecond(ms: number): string {
  return Math.round((DEVICES / ms) * 1_000).toLocaleString('en');
}
