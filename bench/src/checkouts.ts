import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median } from './measure.ts';
import { alignedTable } from './table.ts';

const PASSWORD = 'a password of a benchmark';
const OBJECTS = 20_000;
/** One server process differs from the next of the same code by a tenth, so each checkout is started several times. */
const STARTS = 6;
const ROUNDS = 4;
/** A tick of the CPU clock in /proc, on every Linux that Node.js runs on. */
const TICK_US = 10_000;

interface Work {
  readonly name: string;
  readonly runs: number;
  readonly run: (server: MeasuredServer) => Promise<unknown>;
}

const WORKS: readonly Work[] = [
  { name: 'push of one object', runs: 600, run: (server) => server.push(1) },
  { name: 'pull without news', runs: 1_500, run: (server) => server.pull() },
  {
    name: 'push of ten objects and pull of them',
    runs: 300,
    run: async (server) => {
      await server.push(10);
      await server.pull();
    },
  },
  { name: `first sync of ${OBJECTS.toLocaleString('en')} objects`, runs: 20, run: (server) => server.firstSync() },
];

/**
 * Compares the CPU time that servers of two built checkouts take for the same requests, taking turns. Single
 * processes of the same code differ, so each checkout is started several times.
 */
export async function compareCheckouts(old: string, next: string, say: (line: string) => void): Promise<string> {
  const used = WORKS.map((): readonly number[][] => [[], []]);
  for (let start = 1; start <= STARTS; start++) {
    say(`start ${start} of ${STARTS}`);
    const servers = [await MeasuredServer.start(old), await MeasuredServer.start(next)];
    for (const [index, work] of WORKS.entries()) await measure(servers, work, used[index] ?? []);
    for (const server of servers) await server.stop();
  }
  const rows = WORKS.map(({ name }, index) => {
    const [before = [], after = []] = used[index] ?? [];
    // Rounds that follow each other met the same machine, so their ratio says more than that of two medians.
    const ratios = before.map((cost, round) => (after[round] ?? 0) / cost).sort((left, right) => left - right);
    const quarter = Math.floor(ratios.length / 4);
    const middle = `${ratios[quarter]?.toFixed(2)}–${ratios.at(-1 - quarter)?.toFixed(2)}`;
    return [
      name,
      `${median(before).toFixed(0)} µs`,
      `${median(after).toFixed(0)} µs`,
      median(ratios).toFixed(2),
      middle,
    ];
  });
  return alignedTable([['CPU time of one', old, next, 'ratio', 'half of all rounds'], ...rows]);
}

/** Adds what each server has used in each round. */
async function measure(servers: readonly MeasuredServer[], work: Work, used: readonly number[][]): Promise<void> {
  for (const server of servers) await costOf(server, work);
  for (let round = 0; round < ROUNDS; round++) {
    // The second of two equal servers takes about 3 % more, so they begin in turns.
    const sides = [...servers.entries()];
    const order = round % 2 === 0 ? sides : sides.toReversed();
    for (const [side, server] of order) used[side]?.push(await costOf(server, work));
  }
}

async function costOf(server: MeasuredServer, { run, runs }: Work): Promise<number> {
  const before = server.cpuUs();
  for (let count = 0; count < runs; count++) await run(server);
  return (server.cpuUs() - before) / runs;
}

/** A server of a checkout, with one source, one user and one device that holds everything. */
class MeasuredServer {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #admin: Record<string, string> = {};
  #device: Record<string, string> = {};
  #client = '';
  #token: string | null = null;
  #pushed = 0;

  private constructor(child: ChildProcess, folder: string, port: number) {
    this.#child = child;
    this.#folder = folder;
    this.#port = port;
  }

  static async start(checkout: string): Promise<MeasuredServer> {
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
    const args = [join(checkout, 'packages/cli/bin/tidemark.mjs'), 'serve', '--port', String(port), '--data', folder];
    const env = { ...process.env, TIDEMARK_ADMIN_PASSWORD: PASSWORD };
    const child = spawn(process.execPath, args, { env, stdio: 'ignore' });
    // A benchmark that fails leaves no server behind.
    process.once('exit', () => child.kill());
    const server = new MeasuredServer(child, folder, port);
    await server.#ready();
    await server.#fill();
    return server;
  }

  /** Of all its threads, since it began. */
  cpuUs(): number {
    const fields = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * TICK_US;
  }

  push(count: number): Promise<unknown> {
    const objects = Array.from({ length: count }, () => {
      this.#pushed++;
      return [`o${this.#pushed % OBJECTS}`, { price: OBJECTS + this.#pushed }];
    });
    return this.#call('/app/v1/Order/push_objects', this.#admin, {
      user_id: 'ada',
      objects: Object.fromEntries(objects),
    });
  }

  async pull(): Promise<void> {
    for (let isMore = true; isMore; ) {
      const sources = { Order: this.#token === null ? {} : { token: this.#token } };
      const answer = await this.#call('/sync/v1/pull', this.#device, { client_id: this.#client, sources });
      const page = (answer as { sources: { Order: { token: string; more: boolean } } }).sources.Order;
      this.#token = page.token;
      isMore = page.more;
    }
  }

  async firstSync(): Promise<void> {
    const held = this.#token;
    this.#token = null;
    await this.pull();
    this.#token = held;
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await exited;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #ready(): Promise<void> {
    for (let isReady = false; !isReady; ) {
      if (this.#child.exitCode !== null) throw new Error(`the server ended with ${this.#child.exitCode}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
      isReady = await fetch(`http://127.0.0.1:${this.#port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    }
  }

  async #fill(): Promise<void> {
    const token = await this.#call('/rc/v1/system/login', {}, { login: 'admin', password: PASSWORD });
    this.#admin = { 'x-sync-api-token': String(token) };
    await this.#call('/rc/v1/sources', this.#admin, { name: 'Order' });
    await this.#call('/rc/v1/users', this.#admin, { attributes: { login: 'ada', password: PASSWORD } });
    const note = 'x'.repeat(60);
    const objects = Array.from({ length: OBJECTS }, (_, index) => [
      `o${index}`,
      { item: 'Compass', price: index, note },
    ]);
    await this.#call('/app/v1/Order/push_objects', this.#admin, {
      user_id: 'ada',
      objects: Object.fromEntries(objects),
    });
    const session = await this.#call('/sync/v1/login', {}, { login: 'ada', password: PASSWORD });
    const { token: bearer, client_id } = session as { token: string; client_id: string };
    this.#device = { authorization: `Bearer ${bearer}` };
    this.#client = client_id;
    await this.pull();
  }

  async #call(path: string, headers: Record<string, string>, body: unknown): Promise<unknown> {
    const text = JSON.stringify(body);
    const sent = request({
      ...{ host: '127.0.0.1', port: this.#port, path, method: 'POST', agent: this.#agent },
      headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
    });
    sent.end(text);
    const [answer] = await once(sent, 'response');
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    const answered = Buffer.concat(chunks).toString();
    if (answer.statusCode >= 300) throw new Error(`${path} was answered with ${answer.statusCode}: ${answered}`);
    return answered.startsWith('{') ? JSON.parse(answered) : answered;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('there is no free port');
  return address.port;
}
