import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { DeviceConnection } from '../bench-device.ts';
import { type BenchDevice, makeDevices } from '../device-fixture.ts';
import { newFolder, objectsFrom, tidemarkOn } from '../fixture.ts';
import { LoadSender } from '../load.ts';
import { median, ratePerSecond } from '../measure.ts';
import type { Row } from '../row.ts';

const SOURCES = ['Product', 'Price', 'Stock', 'Order', 'Visit'];
const PASSWORD = 'only for this benchmark';
const CONNECTIONS = 32;
const REQUESTS = 4_000;
const PUSHES = 960;
/** A process runs at its full speed only after some thousand requests, and of two workers each gets half of them. */
const ROUNDS = { pull: { warmUp: 4, measured: 9 }, push: { warmUp: 8, measured: 5 } };
const MAIN = fileURLToPath(new URL('../../../packages/cli/dist/main.js', import.meta.url));

/** A command `serve`, with as many processes as it was told to run. */
interface Served {
  readonly port: number;
  /** Of all its processes, until now. */
  cpuMs(): Promise<number>;
  stop(): Promise<void>;
}

/** What is asked at once, each with a share of the connections and requests. */
type Side = readonly { readonly served: Served; readonly requests: Requests; readonly sender: LoadSender }[];

/** A pull without news, and a push that always writes. */
interface Requests {
  readonly pull: string;
  readonly push: string;
}

/** What one turn of one side gave, per request. */
interface Cost {
  readonly wallUs: number;
  readonly serverUs: number;
  readonly senderUs: number;
}

interface Round {
  readonly one: Cost;
  readonly two: Cost;
  readonly apart: Cost;
}

/**
 * Pulls without news by one server process, by two on one store, and by two that share nothing, in short turns.
 *
 * The sender needs a core as well, and with two cores in all it takes from two servers what one server leaves it. So
 * it is measured by itself and taken off: held against the bound is what a core spent on serving gives, twice. The
 * second row leaves nothing to reckoning: it compares requests per second with the best two processes can give here.
 */
export async function twoServers(): Promise<readonly Row[]> {
  const { pulls: rounds, pushes } = await measureRounds();
  const of = (pick: (round: Round) => number) => median(rounds.map(pick));
  const costText = (pick: (round: Round) => Cost) =>
    `${ratePerSecond(of((round) => pick(round).wallUs))}; ${of((round) => pick(round).serverUs).toFixed(0)} µs CPU each`;
  const sending = of(({ two }) => two.senderUs).toFixed(0);
  const raw = of(({ one, two }) => one.wallUs / two.wallUs).toFixed(2);
  return [
    {
      name: 'pulls by two servers, requests/s',
      measured: `${costText(({ two }) => two)}, and ${sending} µs to send it`,
      against: `${costText(({ one }) => one)} by one, a ratio of ${raw} with the sender on the same cores`,
      ratio: of(({ one, two }) => (2 * one.serverUs) / two.serverUs),
      bound: { atLeast: 1.6 },
    },
    {
      name: 'two servers on one store, requests/s',
      measured: costText(({ two }) => two),
      against: `${costText(({ apart }) => apart)} by two that share nothing`,
      ratio: of(({ apart, two }) => apart.wallUs / two.wallUs),
      bound: { atLeast: 0.85 },
    },
    pushRow(pushes),
  ];
}

/** What it costs that two workers write to one store. */
function pushRow(rounds: readonly Round[]): Row {
  const costText = (pick: (round: Round) => Cost) => {
    const costs = rounds.map(pick);
    const cpu = median(costs.map(({ serverUs }) => serverUs)).toFixed(0);
    return `${cpu} µs; ${ratePerSecond(median(costs.map(({ wallUs }) => wallUs)))} pushes/s`;
  };
  return {
    name: `pushes of 1 object by ${CONNECTIONS} writers to two workers, CPU`,
    measured: costText(({ two }) => two),
    against: `${costText(({ apart }) => apart)} by two that share nothing; ${costText(({ one }) => one)} by one process`,
    ratio: median(rounds.map(({ two, apart }) => two.serverUs / apart.serverUs)),
    bound: { atMost: 1.2 },
  };
}

async function measureRounds(): Promise<{ readonly pulls: readonly Round[]; readonly pushes: readonly Round[] }> {
  const senders = [new LoadSender(), new LoadSender()] as const;
  const folders = [newFolder(), newFolder(), newFolder(), newFolder()] as const;
  const side = async (folder: string, workers: number, sender: LoadSender) => {
    const { device, pushToken } = await prepare(folder);
    const served = await startServer(folder, workers);
    const pull = await pullRequest(`http://127.0.0.1:${served.port}`, device);
    return { served, requests: { pull, push: pushRequest(pushToken) }, sender };
  };
  const sides = {
    one: [await side(folders[0], 1, senders[0])],
    two: [await side(folders[1], 2, senders[0])],
    apart: [await side(folders[2], 1, senders[0]), await side(folders[3], 1, senders[1])],
  };
  const rounds = async (kind: keyof Requests) => {
    const measured: Round[] = [];
    const { warmUp, measured: wanted } = ROUNDS[kind];
    for (let count = 0; count < warmUp + wanted; count++) {
      const round = {
        one: await cost(sides.one, kind),
        two: await cost(sides.two, kind),
        apart: await cost(sides.apart, kind),
      };
      if (count >= warmUp) measured.push(round);
    }
    return measured;
  };
  const pulls = await rounds('pull');
  const pushes = await rounds('push');
  for (const { served } of Object.values(sides).flat()) await served.stop();
  for (const sender of senders) await sender.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  return { pulls, pushes };
}

async function cost(side: Side, kind: keyof Requests): Promise<Cost> {
  const count = kind === 'pull' ? REQUESTS : PUSHES;
  const share = { connections: CONNECTIONS / side.length, requests: count / side.length };
  const serverBefore = await cpuMs(side);
  const senderBefore = process.cpuUsage();
  const start = performance.now();
  await Promise.all(
    side.map(({ served, requests, sender }) => sender.send({ port: served.port, request: requests[kind], ...share })),
  );
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(senderBefore);
  const serverMs = (await cpuMs(side)) - serverBefore;
  const each = (ms: number) => (ms / count) * 1_000;
  return { wallUs: each(wallMs), serverUs: each(serverMs), senderUs: each((user + system) / 1_000) };
}

async function cpuMs(side: Side): Promise<number> {
  const all = await Promise.all(side.map(({ served }) => served.cpuMs()));
  return all.reduce((sum, ms) => sum + ms, 0);
}

async function prepare(folder: string): Promise<{ readonly device: BenchDevice; readonly pushToken: string }> {
  const store = await openEmbeddedStore({ folder });
  const tidemark = tidemarkOn(store);
  for (const name of SOURCES) await tidemark.sources.declare({ name, partition_type: 'app' });
  for (const source of SOURCES) await tidemark.objects.fastInsert({ source, objects: objectsFrom(0, 100) });
  const [device] = await makeDevices(tidemark, 1);
  if (device === undefined) throw new Error('there is no device');
  const { token } = await tidemark.tokens.issue({ user: device.user, scopes: ['push'], expiresAtMs: null });
  await store.close();
  return { device, pushToken: token };
}

async function startServer(folder: string, workers: number): Promise<Served> {
  const settings = {
    TIDEMARK_PORT: '0',
    TIDEMARK_DATA: folder,
    TIDEMARK_ADMIN_PASSWORD: PASSWORD,
    TIDEMARK_LOG_LEVEL: 'error',
    TIDEMARK_WORKERS: String(workers),
    TIDEMARK_METRICS_PUBLIC: 'true',
  };
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const url = line.split(' ').at(-1) ?? '';
  return {
    port: Number(new URL(url).port),
    cpuMs: () => scrapeCpuMs(url),
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** From the metrics, which add up over workers. */
async function scrapeCpuMs(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const seconds = /^process_cpu_seconds_total (\S+)/m.exec(metrics)?.[1];
  if (seconds === undefined) throw new Error('the metrics say nothing about CPU time');
  return Number(seconds) * 1_000;
}

async function pullRequest(url: string, device: BenchDevice): Promise<string> {
  const connection = new DeviceConnection(url, device);
  const tokens: Record<string, string> = {};
  for (const source of SOURCES) tokens[source] = await connection.lastToken(source);
  const body = connection.pullBody(tokens);
  connection.close();
  return requestText('/sync/v1/pull', `authorization: Bearer ${device.token}`, body);
}

/** Inserting replaces an object whatever it was, so the same request writes every time. */
function pushRequest(token: string): string {
  const body = JSON.stringify({ objects: objectsFrom(0, 1) });
  return requestText('/app/v1/Product/fast_insert', `x-sync-api-token: ${token}`, body);
}

function requestText(path: string, credentials: string, body: string): string {
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: localhost',
    credentials,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
