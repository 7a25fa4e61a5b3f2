import { isDeepStrictEqual } from 'node:util';
import { type Device, openDevice } from '@tidemark/client';
import type { PartitionKey } from '@tidemark/core';
import { Dice, seededRandom, temporaryFolder } from '@tidemark/testing/kit';
import { ExpectedObjects } from '../model/objects.ts';
import { callOf } from '../model/partition.ts';
import type { ObjectsGiven } from '../model/write.ts';
import { fastPlatform } from '../processes/fast-platform.ts';
import { type Command, UsageError } from '../runner/command.ts';
import { FLEET_USERS, Fleet, type FleetOptions, USER_PASSWORD } from './fleet.ts';

export interface ServersOptions extends Omit<FleetOptions, 'dice'> {
  readonly rounds: number;
  readonly seed: number;
  readonly onRound?: (report: RoundReport) => void;
}

export interface RoundReport {
  readonly round: number;
  readonly writes: number;
  /** Attempts that a dying server did not answer. */
  readonly failedAttempts: number;
  readonly convergedMs: number;
}

export interface ServersReport {
  readonly kills: number;
  readonly writes: number;
  readonly queries: number;
  readonly problems: readonly string[];
}

const WRITERS = 4;
const OBJECTS_PER_WRITER = 5;
const DEVICES_PER_USER = 2;
const ROUND_MS = 400;
const WRITES_BEFORE_KILLS = 8;
const ATTEMPTS_MAX = 2_000;
const RETRY_MS = 10;
/** Shorter than the time after which devices with an event stream pull by themselves. */
const CONVERGE_MS_MAX = 300_000;
const POLL_MS = 20;

const PARTITIONS: readonly PartitionKey[] = [
  { source: 'Product', user: null },
  ...FLEET_USERS.map((user) => ({ source: 'Order', user })),
];

/** Kills and restarts servers under load. Afterwards every server and device must hold exactly what was acknowledged. */
export async function runServers(options: ServersOptions): Promise<ServersReport> {
  const dice = new Dice(seededRandom(options.seed));
  const fleet = await Fleet.open({ ...options, dice });
  const run = new ServersRun(fleet, dice, options);
  try {
    await run.openDevices();
    await run.runWithoutKills();
    for (let round = 1; round <= options.rounds; round++) await run.round(round);
    await run.finish();
    return run.report();
  } finally {
    await run.closeDevices();
    await fleet.close();
  }
}

class ServersRun {
  readonly #fleet: Fleet;
  readonly #dice: Dice;
  readonly #options: ServersOptions;
  readonly #expected = new ExpectedObjects();
  readonly #devices: { readonly user: string; readonly device: Device }[] = [];
  readonly #problems: string[] = [];
  #writes = 0;
  #failedAttempts = 0;
  #kills = 0;

  constructor(fleet: Fleet, dice: Dice, options: ServersOptions) {
    this.#fleet = fleet;
    this.#dice = dice;
    this.#options = options;
  }

  /** Each device has its event stream at one server, and pulls from any. */
  async openDevices(): Promise<void> {
    const platform = fastPlatform((url, init, original) => {
      const { pathname, search } = new URL(url);
      return original(`${this.#fleet.pick().url}${pathname}${search}`, init);
    });
    for (const user of FLEET_USERS) {
      for (let count = 0; count < DEVICES_PER_USER; count++) {
        const device = await openDevice({ url: 'http://fleet.invalid', platform });
        await device.signIn({ login: user, password: USER_PASSWORD });
        this.#devices.push({ user, device });
      }
    }
  }

  /** Without kills, hints alone must tell devices of changes, long before they would pull by themselves. */
  async runWithoutKills(): Promise<void> {
    for (let count = 0; count < WRITES_BEFORE_KILLS && this.#problems.length === 0; count++) {
      await this.#writeOne(0);
      await this.#converge();
    }
  }

  async round(round: number): Promise<void> {
    const [writes, failedAttempts] = [this.#writes, this.#failedAttempts];
    const endMs = performance.now() + ROUND_MS;
    const writers = Array.from({ length: WRITERS }, (_, writer) => this.#write(writer, endMs));
    const pullers = this.#devices.map(({ device }) => this.#pull(device, endMs));
    const victim = this.#dice.pick(this.#fleet.servers);
    await sleep(this.#dice.between(0, ROUND_MS / 2));
    await victim.kill();
    this.#kills++;
    await Promise.all([...writers, ...pullers, this.#checkForLosses()]);
    await victim.start();
    await this.#checkForLosses();
    const convergedMs = await this.#converge();
    const { onRound } = this.#options;
    onRound?.({
      round,
      writes: this.#writes - writes,
      failedAttempts: this.#failedAttempts - failedAttempts,
      convergedMs,
    });
  }

  /** Checks that statistics of the whole fleet are recorded by one server only. */
  async finish(): Promise<void> {
    const steps = (await this.#fleet.admin.call('GET', '/rc/v1/system/stats?metric=users')) as { count: number }[];
    if (steps.length === 0) this.#problems.push('no server counted the users');
    for (const { count } of steps) if (count !== 1) this.#problems.push(`users were counted ${count} times in a step`);
  }

  report(): ServersReport {
    const { queries } = this.#fleet;
    const problems = [...this.#problems, ...queries.problems];
    return { kills: this.#kills, writes: this.#writes, queries: queries.count, problems };
  }

  async closeDevices(): Promise<void> {
    await Promise.all(this.#devices.map(({ device }) => device.close()));
  }

  /** Every pull needs a query of the backend, so the servers must agree again and again on who makes it. */
  async #pull(device: Device, endMs: number): Promise<void> {
    while (performance.now() < endMs) {
      // It fails when the server dies.
      await device.sync().catch(() => undefined);
      await sleep(POLL_MS);
    }
  }

  async #write(writer: number, endMs: number): Promise<void> {
    while (performance.now() < endMs) await this.#writeOne(writer);
  }

  async #writeOne(writer: number): Promise<void> {
    const partition = this.#dice.pick(PARTITIONS);
    const id = `${writer}-${this.#dice.below(OBJECTS_PER_WRITER)}`;
    const n = ++this.#writes;
    await this.#push(partition, id, n);
    this.#expected.merge(partition, id, { n });
  }

  /** Repeats the push until it is acknowledged: one without an answer may have been applied or not. */
  async #push(partition: PartitionKey, id: string, n: number): Promise<void> {
    const { source, ...user } = callOf(partition);
    const body = { ...user, objects: { [id]: { n } } };
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#fleet.admin.call('POST', `/app/v1/${source}/push_objects`, body);
        return;
      } catch (error) {
        if (attempt === ATTEMPTS_MAX) throw error;
        this.#failedAttempts++;
        await sleep(RETRY_MS);
      }
    }
  }

  /** Checks that whatever server is asked returns everything acknowledged before the request. */
  async #checkForLosses(): Promise<void> {
    for (const partition of PARTITIONS) {
      const acknowledged = this.#expected.objects(partition);
      this.#problems.push(...lostObjects(acknowledged, await this.#read(partition)));
    }
  }

  async #read(partition: PartitionKey): Promise<ObjectsGiven> {
    const path = `/rc/v1/users/${partition.user ?? '*'}/sources/${partition.source}/docs/md`;
    for (let attempt = 1; ; attempt++) {
      try {
        return (await this.#fleet.admin.call('GET', path)) as ObjectsGiven;
      } catch (error) {
        if (attempt === ATTEMPTS_MAX) throw error;
        await sleep(RETRY_MS);
      }
    }
  }

  /** Waits until all devices hold what was acknowledged, without asking them to pull. Returns the time it took. */
  async #converge(): Promise<number> {
    const startMs = performance.now();
    for (;;) {
      const behind = this.#behind();
      const tookMs = performance.now() - startMs;
      if (behind.length === 0) return tookMs;
      if (tookMs > CONVERGE_MS_MAX) {
        this.#problems.push(...behind);
        return tookMs;
      }
      await sleep(POLL_MS);
    }
  }

  #behind(): readonly string[] {
    return this.#devices.flatMap(({ user, device }, index) =>
      PARTITIONS.filter((partition) => partition.user === null || partition.user === user).flatMap((partition) => {
        const held = device.source<{ n: number }>(partition.source).list();
        const objects = Object.fromEntries(held.map(({ id, attributes: { n } }) => [id, { n }]));
        const expected = this.#expected.objects(partition);
        if (isDeepStrictEqual(objects, expected)) return [];
        return [
          `device ${index} holds ${JSON.stringify(objects)} of ${partition.source}, not ${JSON.stringify(expected)}`,
        ];
      }),
    );
  }
}

/** Returns the objects that are older than they were acknowledged. Every object has one writer, so `n` only grows. */
function lostObjects(acknowledged: ObjectsGiven, objects: ObjectsGiven): readonly string[] {
  return Object.entries(acknowledged)
    .filter(([id, { n }]) => Number(objects[id]?.n ?? -1) < Number(n))
    .map(([id, { n }]) => `${id} was acknowledged with ${n} and is ${objects[id]?.n ?? 'missing'}`);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const ROUNDS_DEFAULT = 50;
const SERVERS_DEFAULT = 2;
const SERVERS_MAX = 16;

export const serversCommand: Command = {
  name: 'servers',
  summary: 'Several servers on one store under load, killed and restarted.',
  options: [
    { name: 'rounds', value: 'N', help: `how many servers to kill (default ${ROUNDS_DEFAULT})` },
    { name: 'servers', value: 'N', help: `how many servers, 2 to ${SERVERS_MAX} (default ${SERVERS_DEFAULT})` },
    { name: 'store', value: 'S', help: 'embedded (default) or valkey' },
    { name: 'seed', value: 'S', help: 'the seed of the run (default: random)' },
  ],
  run: async (options) => {
    const rounds = options.number('rounds', 1) ?? ROUNDS_DEFAULT;
    const servers = options.number('servers', 2) ?? SERVERS_DEFAULT;
    const store = options.choice('store', ['embedded', 'valkey']);
    const seed = options.number('seed') ?? Date.now() % 1_000_000;
    if (servers > SERVERS_MAX) throw new UsageError(`--servers: expected at most ${SERVERS_MAX}, got ${servers}`);
    process.stderr.write(`seed ${seed}: ${rounds} rounds, ${servers} servers on one ${store} store\n`);
    const folder = await temporaryFolder();
    try {
      const report = await runServers({ rounds, servers, store, seed, folder: folder.path, onRound: print });
      const { kills, writes, queries, problems } = report;
      process.stdout.write(`${kills} kills, ${writes} writes, ${queries} queries, ${problems.length} problems\n`);
      for (const problem of problems) process.stdout.write(`${problem}\n`);
      return problems.length === 0 ? 0 : 1;
    } finally {
      await folder.remove();
    }
  },
};

function print({ round, writes, failedAttempts, convergedMs }: RoundReport): void {
  const load = `${writes} writes acknowledged, ${failedAttempts} attempts failed`;
  process.stderr.write(`round ${round}: ${load}, devices converged after ${Math.round(convergedMs)} ms\n`);
}
