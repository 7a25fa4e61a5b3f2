import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { DeviceConnection } from '../bench-device.ts';
import { type BenchDevice, makeDevices } from '../device-world.ts';
import { sendLoad } from '../load.ts';
import { median } from '../measure.ts';
import type { Row } from '../row.ts';
import { newFolder, objectsFrom, tidemarkOn } from '../world.ts';

const SOURCES = ['Product', 'Price', 'Stock', 'Order', 'Visit'];
const PASSWORD = 'only for this benchmark';
const CONNECTIONS = 32;
const REQUESTS = 16_000;
const ROUNDS = 5;
const WARM_UP_ROUNDS = 2;
const MAIN = join(dirname(createRequire(import.meta.url).resolve('@tidemark/server')), 'cli', 'main.js');

/** Pulls without news that two server processes on one store answer, against one; what sending them costs is told beside. */
export async function twoServers(say: (line: string) => void): Promise<Row> {
  const folder = newFolder();
  const device = await furnish(folder);
  const one = await pullsPerSecond(folder, device, 1);
  say(`  one: ${told(one)}`);
  const two = await pullsPerSecond(folder, device, 2);
  say(`  two: ${told(two)}`);
  rmSync(folder, { recursive: true, force: true });
  return {
    name: 'pulls by two servers, requests/s',
    measured: told(two),
    against: `${told(one)} by one`,
    ratio: two.perSecond / one.perSecond,
    bound: { atLeast: 1.6 },
  };
}

interface Measured {
  readonly perSecond: number;
  /** Of one core, used by whoever sends. */
  readonly senderShare: number;
}

function told({ perSecond, senderShare }: Measured): string {
  return `${Math.round(perSecond).toLocaleString('en')} (sending takes ${Math.round(senderShare * 100)} % of a core)`;
}

async function furnish(folder: string): Promise<BenchDevice> {
  const store = await openEmbeddedStore({ folder });
  const tidemark = tidemarkOn(store);
  for (const name of SOURCES) await tidemark.sources.declare({ name, partition_type: 'app' });
  for (const source of SOURCES) await tidemark.fastInsert({ source, objects: objectsFrom(0, 100) });
  const [device] = await makeDevices(tidemark, 1);
  await store.close();
  if (device === undefined) throw new Error('there is no device');
  return device;
}

async function pullsPerSecond(folder: string, device: BenchDevice, workers: number): Promise<Measured> {
  const { child, url } = await startServer(folder, workers);
  const request = await pullRequest(url, device);
  const load = { port: Number(new URL(url).port), connections: CONNECTIONS, requests: REQUESTS, request };
  const tookMs: number[] = [];
  const shares: number[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const before = process.cpuUsage();
    const elapsedMs = await sendLoad(load);
    const { user, system } = process.cpuUsage(before);
    if (round < WARM_UP_ROUNDS) continue;
    tookMs.push(elapsedMs);
    shares.push((user + system) / 1_000 / elapsedMs);
  }
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
  return { perSecond: (REQUESTS / median(tookMs)) * 1_000, senderShare: median(shares) };
}

async function startServer(
  folder: string,
  workers: number,
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const settings = {
    TIDEMARK_PORT: '0',
    TIDEMARK_DATA: folder,
    TIDEMARK_ADMIN_PASSWORD: PASSWORD,
    TIDEMARK_LOG_LEVEL: 'error',
    TIDEMARK_WORKERS: String(workers),
  };
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, url: line.split(' ').at(-1) ?? '' };
}

async function pullRequest(url: string, device: BenchDevice): Promise<string> {
  const connection = new DeviceConnection(url, device);
  const tokens: Record<string, string> = {};
  for (const source of SOURCES) tokens[source] = await connection.lastToken(source);
  const body = connection.pullBody(tokens);
  connection.close();
  const head = [
    'POST /sync/v1/pull HTTP/1.1',
    'host: localhost',
    `authorization: Bearer ${device.token}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
