import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Library, openLibrary, Rng, seededRandom, temporaryFolder } from '@tidemark/testing';
import { ADMIN_PASSWORD, logIn } from '@tidemark/testing/server';
import { afterAll, expect, it } from 'vitest';

/** Each round starts a server. More rounds by hand: `STOP_ROUNDS=20 npm test -- stops.test.ts`. */
const ROUNDS = Number(process.env.STOP_ROUNDS ?? (process.env.TIDEMARK_LONG_TESTS === '1' ? 20 : 1));
const SEED = Number(process.env.STOP_SEED ?? 1);
const WORKERS = 8;
/** Answers before the server is stopped: enough to be under load, few enough for many rounds. */
const ANSWERS_MIN = 10;
const ANSWERS_MAX = 150;
const OBJECTS_PER_PUSH = 3;

// The built server in its own process. `npm test` builds before it runs this.
const MAIN = fileURLToPath(new URL('../../../cli/dist/main.js', import.meta.url));

const children: ChildProcess[] = [];

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

async function startServer(folder: string): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const settings = { TIDEMARK_PORT: '0', TIDEMARK_DATA: folder, TIDEMARK_ADMIN_PASSWORD: ADMIN_PASSWORD };
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, url: line.split(' ').at(-1) ?? '' };
}

/** One request of a worker and its result. */
interface Sent {
  readonly path: string;
  /** What must be found later: ids of objects, or a line of a document. */
  readonly marks: readonly string[];
  /** True if it was handed to the system completely before the server was told to stop. */
  isEarly: boolean;
  outcome: 'answered' | 'refused' | 'cut' | 'nothing' | null;
}

/** State shared by all workers. */
class Load {
  readonly sent: Sent[] = [];
  answered = 0;
  isStopped = false;
  readonly #waiting: { readonly count: number; readonly wake: () => void }[] = [];

  note(sent: Sent, outcome: Sent['outcome']): void {
    sent.outcome = outcome;
    if (outcome === 'answered') this.answered++;
    for (const { count, wake } of this.#waiting) if (this.answered >= count) wake();
  }

  until(count: number): Promise<void> {
    return new Promise((wake) => this.#waiting.push({ count, wake }));
  }
}

/** Writes without a pause over one connection, until the server closes it. */
async function work(load: Load, url: string, token: string, round: number, worker: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let count = 0; ; count++) {
    const name = `r${round}-w${worker}-${count}`;
    const isPush = worker % 2 === 0;
    const marks = isPush ? Array.from({ length: OBJECTS_PER_PUSH }, (_, index) => `${name}-${index}`) : [`${name};`];
    const sent: Sent = {
      path: isPush ? '/app/v1/Order/push_objects' : `/rc/v1/store/log-${worker}`,
      marks,
      isEarly: false,
      outcome: null,
    };
    const body = isPush
      ? { user_id: 'anna', objects: Object.fromEntries(marks.map((mark) => [mark, { of: name }])) }
      : { data: marks[0], append: true };
    load.sent.push(sent);
    const goesOn = await send(load, sent, { url, token, agent, body: JSON.stringify(body) });
    if (!goesOn) break;
  }
  agent.destroy();
}

interface Wire {
  readonly url: string;
  readonly token: string;
  readonly agent: Agent;
  readonly body: string;
}

/** Returns true if the connection can be used again. */
function send(load: Load, sent: Sent, { url, token, agent, body }: Wire): Promise<boolean> {
  const headers = {
    'content-type': 'application/json',
    'x-sync-api-token': token,
    'content-length': Buffer.byteLength(body),
  };
  return new Promise((resolve) => {
    const outgoing = request(url + sent.path, { method: 'POST', agent, headers }, (response) => {
      readWhole(response).then(
        () => {
          load.note(sent, response.statusCode === 200 ? 'answered' : 'refused');
          resolve(response.headers.connection !== 'close');
        },
        () => {
          load.note(sent, 'cut');
          resolve(false);
        },
      );
    });
    outgoing.on('finish', () => {
      sent.isEarly = !load.isStopped;
    });
    outgoing.on('error', () => {
      load.note(sent, 'nothing');
      resolve(false);
    });
    outgoing.end(body);
  });
}

async function readWhole(response: IncomingMessage): Promise<void> {
  for await (const _chunk of response);
  if (!response.complete) throw new Error('the answer was cut off');
}

interface Plan {
  readonly folder: string;
  readonly signal: NodeJS.Signals;
  readonly rng: Rng;
}

/** Lets the workers write, stops the server under load, and returns the requests and the exit of the server. */
async function round({ folder, signal, rng }: Plan, token: string | null, number: number) {
  const { child, url } = await startServer(folder);
  const valid = token ?? (await populate(url));
  const load = new Load();
  const workers = Array.from({ length: WORKERS }, (_, worker) => work(load, url, valid, number, worker));
  await load.until(rng.between(ANSWERS_MIN, ANSWERS_MAX));
  const closed = once(child, 'close') as Promise<[number | null, string | null]>;
  // Synchronous, so that nothing is handed to the system in between.
  load.isStopped = true;
  child.kill(signal);
  const [code, killedBy] = await closed;
  await Promise.all(workers);
  return { token: valid, sent: load.sent, code, killedBy };
}

async function populate(url: string): Promise<string> {
  const token = await logIn(url);
  const headers = { 'content-type': 'application/json', 'x-sync-api-token': token };
  const post = (path: string, body: unknown) =>
    fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  await post('/rc/v1/users', { attributes: { login: 'anna', password: 'of anna' } });
  await post('/rc/v1/sources', { name: 'Order' });
  return token;
}

/** Counts every mark in the store. */
async function marksIn({ tidemark }: Library): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const id of (await tidemark.objects.read({ source: 'Order', user_id: 'anna' })).keys()) found.set(id, 1);
  for (let worker = 1; worker < WORKERS; worker += 2) {
    const view = await tidemark.documents.read({ kind: 'server' }, `log-${worker}`).catch(() => null);
    const text = view?.type === 'text' ? view.text : '';
    for (const mark of text.match(/[^;]+;/g) ?? []) found.set(mark, (found.get(mark) ?? 0) + 1);
  }
  return found;
}

/** Returns acknowledged marks that are not there exactly once, and partly applied requests. */
function faultsOf(sent: readonly Sent[], found: ReadonlyMap<string, number>): readonly string[] {
  return sent.flatMap(({ marks, outcome }) => {
    const counts = marks.map((mark) => found.get(mark) ?? 0);
    if (outcome === 'answered')
      return counts.every((count) => count === 1) ? [] : [`${marks} answered, found ${counts}`];
    if (outcome === 'refused') return counts.every((count) => count === 0) ? [] : [`${marks} refused, found ${counts}`];
    return counts.every((count) => count === counts[0] && count <= 1) ? [] : [`${marks} found by half: ${counts}`];
  });
}

/** Runs the rounds on one folder, each server continuing where the last one was stopped. */
async function runRounds(
  signal: NodeJS.Signals,
  check: (report: Awaited<ReturnType<typeof round>>) => void,
): Promise<void> {
  const folder = await temporaryFolder();
  try {
    await runRoundsIn({ folder: folder.path, signal, rng: new Rng(seededRandom(SEED)) }, check);
  } finally {
    await folder.remove();
  }
}

async function runRoundsIn(plan: Plan, check: (report: Awaited<ReturnType<typeof round>>) => void): Promise<void> {
  const sent: Sent[] = [];
  let token: string | null = null;
  for (let number = 0; number < ROUNDS; number++) {
    const report = await round(plan, token, number);
    token = report.token;
    sent.push(...report.sent);
    check(report);
  }
  const library = await openLibrary(plan.folder);
  try {
    expect(faultsOf(sent, await marksIn(library))).toEqual([]);
    expect(await library.verify()).toEqual([]);
  } finally {
    await library.close();
  }
}

// Concurrent: most of a round is the start of a server, which keeps one core busy.
it.concurrent('[REST-31] a server stopped under load answers every request that has reached it, exits with 0 and loses nothing', () =>
  runRounds('SIGTERM', ({ sent, code, killedBy }) => {
    expect({ code, killedBy }).toEqual({ code: 0, killedBy: null });
    expect(sent.filter(({ isEarly, outcome }) => isEarly && outcome !== 'answered')).toEqual([]);
    expect(sent.filter(({ outcome }) => outcome === 'cut' || outcome === 'refused')).toEqual([]);
  }));

it.concurrent('[REST-32] a server killed under load has lost no acknowledged write and applied none partly', () =>
  runRounds('SIGKILL', ({ killedBy }) => {
    expect(killedBy).toBe('SIGKILL');
  }));
