import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pass } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sharedPartition, Tidemark, userPartition } from '@tidemark/core';
import {
  collectingLog,
  itLong,
  pullPage,
  Rng,
  seededRandom,
  settableClock,
  temporaryFolder,
  weakPasswords,
} from '@tidemark/testing';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openEmbeddedStore } from './open-store.ts';

/** A built program in a process of its own that prints lines of JSON. */
class Child<Line> {
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  #unfinished = '';

  constructor(name: string, orders: object, onLine: (line: Line) => void) {
    const program = fileURLToPath(new URL(`../../sim/dist/crash/store/${name}.js`, import.meta.url));
    const stdio = ['pipe', 'pipe', 'inherit'] as const;
    this.#process = spawn(process.execPath, [program, JSON.stringify(orders)], { stdio: [...stdio] });
    this.#ended = once(this.#process, 'close');
    this.#process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      // A line that was cut short by a kill is ignored.
      const lines = (this.#unfinished + text).split('\n');
      this.#unfinished = lines.pop() ?? '';
      for (const line of lines) onLine(JSON.parse(line) as Line);
    });
  }

  tell(order: object): void {
    this.#process.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#ended;
  }

  /** Asks the process to end. Resolves with its exit code. */
  async end(): Promise<number | null> {
    this.#process.stdin?.end();
    await this.#ended;
    return this.#process.exitCode;
  }
}

const LANES = ['merge', 'swap', 'append', 'batch'] as const;
type Lane = (typeof LANES)[number];

interface NeighbourLine {
  readonly say: 'begin' | 'done' | 'refused' | 'failed';
  readonly lane: Lane;
  readonly number: number;
  readonly seq: number;
  readonly reason: string;
}

interface LaneRecord {
  /** Acknowledged numbers, in order. */
  readonly done: number[];
  readonly seqs: number[];
  /** The number that was begun and not acknowledged; null between two. */
  underWay: number | null;
}

/** What one process has printed so far. */
class Neighbour {
  readonly name: string;
  readonly lanes: Readonly<Record<Lane, LaneRecord>>;
  readonly child: Child<NeighbourLine>;
  failure: string | null = null;

  constructor(name: string, folder: string, onLine: (neighbour: Neighbour, line: NeighbourLine) => void) {
    const record = (): LaneRecord => ({ done: [], seqs: [], underWay: null });
    this.name = name;
    this.lanes = { merge: record(), swap: record(), append: record(), batch: record() };
    const orders = { folder, name, lanes: LANES, batchObjects: BATCH_OBJECTS };
    this.child = new Child('concurrent-writer', orders, (line: NeighbourLine) => {
      this.#note(line);
      onLine(this, line);
    });
  }

  #note(line: NeighbourLine): void {
    if (line.say === 'failed') {
      this.failure = line.reason;
      return;
    }
    const lane = this.lanes[line.lane];
    lane.underWay = line.say === 'begin' ? line.number : null;
    if (line.say !== 'done') return;
    lane.done.push(line.number);
    lane.seqs.push(line.seq);
  }

  /** The numbers that may stand last where only these lanes' numbers with this remainder are written. */
  possible(lane: Lane, isHere: (number: number) => boolean): readonly (number | undefined)[] {
    const { done, underWay } = this.lanes[lane];
    const last = done.filter(isHere).at(-1);
    return underWay !== null && isHere(underWay) ? [last, underWay] : [last];
  }
}

const SHARED = sharedPartition('Catalog');
const ANN = 'ann';
const PHONE = { user: ANN, client: 'phone' };
const PERSONAL = userPartition('Notes', ANN);
const OBJECTS = 5;
const BATCH_OBJECTS = 2_500;

type Objects = Map<string, Record<string, unknown>>;

interface Page {
  readonly token: string;
  readonly more: boolean;
  readonly reset?: true;
  readonly delete?: readonly string[];
  readonly put?: Readonly<Record<string, Record<string, unknown>>>;
  readonly patch?: Readonly<Record<string, Record<string, unknown>>>;
  readonly drop?: Readonly<Record<string, readonly string[]>>;
}

/** A device of the reading process, following a partition that others write to. */
class Follower {
  readonly objects: Objects = new Map();
  readonly resets: string[] = [];
  #token: string | null = null;

  /** Whether more follows. */
  async pull(tidemark: Tidemark, source: string, objectsMax: number): Promise<boolean> {
    const asked = this.#token;
    const { json } = await pullPage(tidemark, PHONE, { source, token: asked, objectsMax });
    const page = JSON.parse(json) as Page;
    if (page.reset === true && asked !== null) this.resets.push(asked);
    for (const id of page.delete ?? []) this.objects.delete(id);
    for (const [id, attributes] of Object.entries(page.put ?? {})) this.objects.set(id, attributes);
    for (const [id, patch] of Object.entries(page.patch ?? {})) Object.assign(this.objects.get(id) ?? {}, patch);
    for (const [id, names] of Object.entries(page.drop ?? {})) {
      for (const name of names) delete this.objects.get(id)?.[name];
    }
    this.#token = page.token;
    return page.more;
  }
}

/** The process that reads while its neighbours write. */
class Reader {
  readonly tidemark: Tidemark;
  /** What a read that began after an acknowledgement should have seen, and did not. */
  readonly unseen: string[] = [];
  /** Heads that were lower than one seen before. */
  readonly setbacks: string[] = [];
  readonly followers = { Catalog: new Follower(), Notes: new Follower() };
  readonly #reads: Promise<void>[] = [];
  #isWatching = true;

  constructor(tidemark: Tidemark) {
    this.tidemark = tidemark;
  }

  /** Begins a read at once and records whether it saw what was acknowledged. */
  expectToSee({ name }: Neighbour, line: NeighbourLine): void {
    this.#reads.push(line.lane === 'append' ? this.#seeText(name, line) : this.#seeObject(name, line));
  }

  async #seeText(name: string, { number }: NeighbourLine): Promise<void> {
    const view = await this.tidemark.documents.read({ kind: 'server' }, 'log');
    const isSeen = view.type === 'text' && view.text.includes(`${name}:${number};`);
    if (!isSeen) this.unseen.push(`${name} append ${number}`);
  }

  async #seeObject(name: string, { lane, number, seq }: NeighbourLine): Promise<void> {
    const [partition, ids, attribute] = placeOf(lane, name, number);
    const { state, objects } = await this.tidemark.store.readObjects(partition, ids);
    const seen = ids.map((id) => attributesIn(objects.get(id)?.record ?? null)[attribute]);
    const isSeen = state.head >= seq && seen.every((value) => typeof value === 'number' && value >= number);
    // A batch is one step, so its objects are always of one number, whichever it is.
    if (!isSeen || new Set(seen).size > 1) this.unseen.push(`${name} ${lane} ${number}: ${seen.join()}, ${state.head}`);
  }

  /** Reads the heads and lets the devices pull, page by page, until it is told to stop. */
  async watch(): Promise<void> {
    const heads = { Catalog: 0, Notes: 0 };
    while (this.#isWatching) {
      for (const partition of [SHARED, PERSONAL]) {
        const source = partition.source as keyof typeof heads;
        const { head } = await this.tidemark.store.partition(partition);
        if (head < heads[source]) this.setbacks.push(`${source}: ${head} after ${heads[source]}`);
        heads[source] = head;
        await this.followers[source].pull(this.tidemark, source, 200);
      }
      // Watching without a pause would leave the writers no processor.
      await pass(5);
    }
  }

  async stop(): Promise<void> {
    this.#isWatching = false;
    await Promise.all(this.#reads);
  }
}

function placeOf(lane: Lane, name: string, number: number) {
  if (lane === 'merge') return [SHARED, [`o${number % OBJECTS}`], name] as const;
  if (lane === 'swap') return [PERSONAL, [`p${number % OBJECTS}`], name] as const;
  return [SHARED, [0, 1, 1_999, 2_000, BATCH_OBJECTS - 1].map((index) => `${name}-${index}`), 'number'] as const;
}

function attributesIn(record: string | null): Record<string, unknown> {
  if (record === null) return {};
  const [attributes = {}] = Object.values(JSON.parse(`{${record.split('\n')[0]}}`) as Record<string, object>);
  return attributes as Record<string, unknown>;
}

async function openReader(folder: string): Promise<Reader> {
  const random = seededRandom(2);
  const parts = { clock: settableClock(), random, passwords: weakPasswords(random), log: collectingLog() };
  const tidemark = new Tidemark({ ...parts, store: await openEmbeddedStore({ folder }) });
  await tidemark.sources.declare({ name: SHARED.source, partition_type: 'app' });
  await tidemark.sources.declare({ name: PERSONAL.source, partition_type: 'user' });
  await tidemark.users.create({ attributes: { login: ANN, password: 'open sesame' } });
  await tidemark.clients.register(ANN, { client_id: PHONE.client });
  // The first write gives a partition its epoch. From then on no device has a reason to start over.
  const objects = { first: { of: 'all' } };
  await tidemark.objects.push({ source: SHARED.source, objects });
  await tidemark.objects.push({ source: PERSONAL.source, user_id: ANN, objects });
  return new Reader(tidemark);
}

/** `npm run test:long` kills more processes and opens more folders. */
const IS_LONG = process.env.TIDEMARK_LONG_TESTS === '1';
const KILLS = IS_LONG ? 6 : 1;

/** Two processes that write to the end, beside others that are killed one after the other. */
class Neighbourhood {
  readonly reader: Reader;
  readonly all: Neighbour[] = [];
  exitCodes: (number | null)[] = [];
  readonly #folder: string;
  readonly #rng = new Rng(seededRandom(3));
  #waiting: { readonly isDone: () => boolean; readonly resolve: () => void }[] = [];

  constructor(folder: string, reader: Reader) {
    this.#folder = folder;
    this.reader = reader;
  }

  async run(): Promise<void> {
    const watching = this.reader.watch();
    const staying = [this.#start('a'), this.#start('b')];
    for (let count = 1; count <= KILLS; count++) {
      const victim = this.#start(`c${count}`);
      await this.#progress([...staying, victim], 1);
      await this.#killInBatch(victim);
      await this.#progress(staying, 2);
    }
    this.exitCodes = await Promise.all(staying.map(({ child }) => child.end()));
    await this.reader.stop();
    await watching;
  }

  #start(name: string): Neighbour {
    const neighbour = new Neighbour(name, this.#folder, (from, line) => {
      if (line.say === 'done') this.reader.expectToSee(from, line);
      this.#tellWaiting();
    });
    this.all.push(neighbour);
    return neighbour;
  }

  /** Resolves when each of them has got on by this much in every lane. */
  #progress(neighbours: readonly Neighbour[], by: number): Promise<void> {
    const lanes = neighbours.flatMap(({ lanes: each }) => LANES.map((lane) => each[lane]));
    const goals = lanes.map((lane) => ({ lane, count: lane.done.length + by }));
    return this.#until(() => goals.every(({ lane, count }) => lane.done.length >= count));
  }

  /** A batch holds the lock for long, so a kill soon after its begin often hits whoever has it. */
  async #killInBatch(victim: Neighbour): Promise<void> {
    const { batch } = victim.lanes;
    const before = batch.underWay ?? 0;
    await this.#until(() => batch.underWay !== null && batch.underWay > before);
    await pass(this.#rng.between(0, 100));
    await victim.child.kill();
  }

  #until(isDone: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ isDone, resolve });
      this.#tellWaiting();
    });
  }

  #tellWaiting(): void {
    const ready = this.#waiting.filter(({ isDone }) => isDone());
    this.#waiting = this.#waiting.filter((waiting) => !ready.includes(waiting));
    for (const { resolve } of ready) resolve();
  }
}

describe('processes that work on one store', () => {
  let neighbourhood: Neighbourhood;
  let shared: Objects;
  let personal: Objects;

  beforeAll(async () => {
    const folder = await temporaryFolder();
    const reader = await openReader(folder.path);
    neighbourhood = new Neighbourhood(folder.path, reader);
    await neighbourhood.run();
    shared = new Map(await reader.tidemark.objects.read({ source: SHARED.source }));
    personal = new Map(await reader.tidemark.objects.read({ source: PERSONAL.source, user_id: ANN }));
    return async () => {
      await reader.tidemark.store.close();
      await folder.remove();
    };
  });

  it('[PROC-1] no process fails, and those that are not killed exit with code 0', () => {
    expect(neighbourhood.all.map(({ failure }) => failure)).toEqual(neighbourhood.all.map(() => null));
    expect(neighbourhood.exitCodes).toEqual([0, 0]);
  });

  it('[PROC-1] no update of an object is lost, though several write different attributes of it', () => {
    for (const neighbour of neighbourhood.all) {
      for (let rest = 0; rest < OBJECTS; rest++) {
        const isHere = (number: number) => number % OBJECTS === rest;
        expect(neighbour.possible('merge', isHere)).toContain(shared.get(`o${rest}`)?.[neighbour.name]);
        expect(neighbour.possible('swap', isHere)).toContain(personal.get(`p${rest}`)?.[neighbour.name]);
      }
    }
  });

  it('[PROC-1] no addition to a document is lost, repeated or out of order', async () => {
    const view = await neighbourhood.reader.tidemark.documents.read({ kind: 'server' }, 'log');
    const entries = view.type === 'text' ? view.text.split(';').slice(0, -1) : [];
    for (const { name, lanes } of neighbourhood.all) {
      const { done, underWay } = lanes.append;
      const found = entries.filter((entry) => entry.startsWith(`${name}:`)).map((entry) => Number(entry.split(':')[1]));
      expect([done, [...done, underWay]]).toContainEqual(found);
    }
  });

  it('[PROC-1] every commit has a seq of its own, and the head is the last of them', async () => {
    const seqsOf = (lanes: readonly Lane[]) =>
      neighbourhood.all.flatMap((neighbour) => lanes.flatMap((lane) => neighbour.lanes[lane].seqs));
    for (const [partition, lanes] of [
      [SHARED, ['merge', 'batch']],
      [PERSONAL, ['swap']],
    ] as const) {
      const seqs = seqsOf(lanes);
      expect(new Set(seqs).size).toBe(seqs.length);
      const { head } = await neighbourhood.reader.tidemark.store.partition(partition);
      expect(head).toBeGreaterThanOrEqual(Math.max(...seqs));
    }
  });

  it('[PROC-2] a read that begins after an acknowledgement in another process sees what was acknowledged', () => {
    expect(neighbourhood.reader.unseen).toEqual([]);
  });

  it('[PROC-3] heads never decrease, and devices that pull meanwhile end up with the whole document', async () => {
    const { reader } = neighbourhood;
    expect(reader.setbacks).toEqual([]);
    for (const [source, document] of [
      ['Catalog', shared],
      ['Notes', personal],
    ] as const) {
      const follower = reader.followers[source];
      while (await follower.pull(reader.tidemark, source, 500));
      expect(follower.resets).toEqual([]);
      expect(follower.objects).toEqual(document);
    }
  });

  it('[PROC-4] a killed process leaves only whole batches behind, and the others continue', () => {
    for (const neighbour of neighbourhood.all) {
      const batch = [...shared].filter(([id]) => id.startsWith(`${neighbour.name}-`));
      const numbers = [...new Set(batch.map(([, { number }]) => number))];
      expect(batch).toHaveLength(BATCH_OBJECTS);
      expect(numbers).toHaveLength(1);
      expect(neighbour.possible('batch', () => true)).toContain(numbers[0]);
    }
  });

  it('[PROC-4] verify finds nothing after processes were killed', async () => {
    const findings = [];
    for await (const finding of neighbourhood.reader.tidemark.verify()) findings.push(finding);
    expect(findings).toEqual([]);
  });
});

const HUGE_BATCH_OBJECTS = 30_000;
/** A small write that takes this long was waiting for another process. */
const STUCK_MS = 150;

itLong('[PROC-4] a process that is killed while the others wait for it does not hold them up', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const { tidemark } = await openReader(folder.path);
  onTestFinished(() => tidemark.store.close());
  const orders = { folder: folder.path, name: 'holder', lanes: ['batch'], batchObjects: HUGE_BATCH_OBJECTS };
  const begun: number[] = [];
  const holder = new Child<NeighbourLine>('concurrent-writer', orders, ({ number }) => begun.push(number));
  onTestFinished(() => holder.kill());
  const write = (number: number) => tidemark.objects.push({ source: SHARED.source, objects: { small: { number } } });
  let stuck: ReturnType<typeof write> | null = null;
  for (let number = 1; stuck === null; number++) {
    const writing = write(number);
    const isStuck = await Promise.race([writing.then(() => false), pass(STUCK_MS, true)]);
    stuck = isStuck && begun.length > 0 ? writing : null;
  }
  await holder.kill();
  expect(await stuck).toMatchObject({ source: SHARED.source, changed: 1 });
  expect(await write(0)).toMatchObject({ changed: 1 });
  expect((await tidemark.objects.partition({ source: SHARED.source })).size % HUGE_BATCH_OBJECTS).toBe(2);
});

const NEWCOMERS = 2;
const NEW_FOLDERS = IS_LONG ? 24 : 1;
const LEAD_MS = 3;

type NewcomerLine = { readonly say: 'open'; readonly epoch: string } | { readonly say: 'closed' | 'failed' };

/** A process that can be told which folder to open, and when. */
class Newcomer {
  readonly child = new Child<NewcomerLine>('concurrent-opener', {}, (line) => this.#onLine(line));
  #onLine: (line: NewcomerLine) => void = () => undefined;

  ask(order: object): Promise<NewcomerLine> {
    return new Promise((resolve) => {
      this.#onLine = resolve;
      this.child.tell(order);
    });
  }
}

describe('processes that open a new folder at the same moment', () => {
  it('[PROC-5] processes that open a new folder at the same moment all succeed and agree on the epoch', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const newcomers = Array.from({ length: NEWCOMERS }, () => new Newcomer());
    onTestFinished(async () => {
      await Promise.all(newcomers.map(({ child }) => child.kill()));
    });
    const rng = new Rng(seededRandom(4));
    for (let count = 0; count < NEW_FOLDERS; count++) {
      const path = join(folder.path, String(count));
      const atMs = Date.now() + LEAD_MS;
      const opened = await Promise.all(
        newcomers.map((newcomer) => newcomer.ask({ do: 'open', folder: path, atMs: atMs + rng.below(3) })),
      );
      const [first] = opened;
      expect(opened).toEqual(opened.map(() => ({ say: 'open', epoch: expect.stringMatching(/./) })));
      expect(opened).toEqual(opened.map(() => first));
      await Promise.all(newcomers.map((newcomer) => newcomer.ask({ do: 'close' })));
    }
  });
});
