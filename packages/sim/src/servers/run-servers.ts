import { type Device, defaultPlatform, openDevice, type Platform } from '@tidemark/client';
import { Dice, seededRandom } from '@tidemark/testing/kit';
import { FLEET_USERS, Fleet, type FleetOptions, USER_PASSWORD } from './fleet.ts';
import { Ledger, type LedgerObjects, type LedgerPlace } from './ledger.ts';

export interface ServersOptions extends Omit<FleetOptions, 'dice'> {
  readonly rounds: number;
  readonly seed: number;
  readonly onRound?: (report: RoundOfServers) => void;
}

export interface RoundOfServers {
  readonly round: number;
  readonly writes: number;
  /** Attempts that a dying server left without an answer. */
  readonly unanswered: number;
  readonly convergedMs: number;
}

export interface ServersReport {
  readonly kills: number;
  readonly writes: number;
  readonly queries: number;
  readonly problems: readonly string[];
}

/** Devices wait this many times shorter than they would. */
const HASTE = 20;
const WRITERS = 4;
const OBJECTS_PER_WRITER = 5;
const DEVICES_PER_USER = 2;
const ROUND_MS = 400;
const CALM_WRITES = 8;
const ATTEMPTS_MAX = 2_000;
const RETRY_MS = 10;
/** Less than devices that listen wait before they ask by themselves, also in haste. */
const CONVERGE_MS_MAX = 300_000;
const LOOK_EVERY_MS = 20;

const PLACES: readonly LedgerPlace[] = [
  { source: 'Product', user: null },
  ...FLEET_USERS.map((user) => ({ source: 'Order', user })),
];

/** Servers under load, killed and started; afterwards everything acknowledged must be everywhere, and nothing else. */
export async function runServers(options: ServersOptions): Promise<ServersReport> {
  const dice = new Dice(seededRandom(options.seed));
  const fleet = await Fleet.open({ ...options, dice });
  const run = new ServersRun(fleet, dice, options);
  try {
    await run.openDevices();
    await run.calm();
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
  readonly #ledger = new Ledger();
  readonly #devices: { readonly user: string; readonly device: Device }[] = [];
  readonly #problems: string[] = [];
  #writes = 0;
  #unanswered = 0;
  #kills = 0;

  constructor(fleet: Fleet, dice: Dice, options: ServersOptions) {
    this.#fleet = fleet;
    this.#dice = dice;
    this.#options = options;
  }

  /** They listen at whichever server they are given, and pull at any. */
  async openDevices(): Promise<void> {
    for (const user of FLEET_USERS) {
      for (let count = 0; count < DEVICES_PER_USER; count++) {
        const device = await openDevice({ url: 'http://fleet.invalid', platform: this.#platform() });
        await device.signIn({ login: user, password: USER_PASSWORD });
        this.#devices.push({ user, device });
      }
    }
  }

  /** Nobody dies: devices must be told by hints alone, long before they would ask by themselves. */
  async calm(): Promise<void> {
    for (let count = 0; count < CALM_WRITES && this.#problems.length === 0; count++) {
      await this.#writeOne(0);
      await this.#converge();
    }
  }

  async round(round: number): Promise<void> {
    const [writes, unanswered] = [this.#writes, this.#unanswered];
    const endMs = performance.now() + ROUND_MS;
    const writers = Array.from({ length: WRITERS }, (_, writer) => this.#write(writer, endMs));
    const pullers = this.#devices.map(({ device }) => this.#pull(device, endMs));
    const victim = this.#dice.pick(this.#fleet.servers);
    await pass(this.#dice.between(0, ROUND_MS / 2));
    await victim.kill();
    this.#kills++;
    await Promise.all([...writers, ...pullers, this.#lookForLosses()]);
    await victim.start();
    await this.#lookForLosses();
    const convergedMs = await this.#converge();
    const { onRound } = this.#options;
    onRound?.({ round, writes: this.#writes - writes, unanswered: this.#unanswered - unanswered, convergedMs });
  }

  /** What one of the servers measures for all is measured once. */
  async finish(): Promise<void> {
    const steps = (await this.#fleet.call('GET', '/rc/v1/system/stats?metric=users')) as { count: number }[];
    if (steps.length === 0) this.#problems.push('nobody has counted the users');
    for (const { count } of steps) if (count !== 1) this.#problems.push(`users were counted ${count} times in a step`);
  }

  report(): ServersReport {
    const { watch } = this.#fleet;
    const problems = [...this.#problems, ...watch.problems];
    return { kills: this.#kills, writes: this.#writes, queries: watch.queries, problems };
  }

  async closeDevices(): Promise<void> {
    await Promise.all(this.#devices.map(({ device }) => device.close()));
  }

  /** Time runs faster for a device, and each of its requests goes to a server of the load balancer's choice. */
  #platform(): Partial<Platform> {
    const own = defaultPlatform();
    return {
      after: (ms, callback) => own.after(ms / HASTE, callback),
      fetch: (url, init) => {
        const { pathname, search } = new URL(url);
        return own.fetch(`${this.#fleet.pick().url}${pathname}${search}`, init);
      },
      network: null,
    };
  }

  /** Each pull asks for everything, so that servers have to agree again and again on who asks the backend. */
  async #pull(device: Device, endMs: number): Promise<void> {
    while (performance.now() < endMs) {
      // A server that dies meanwhile is as good as no network.
      await device.sync().catch(() => undefined);
      await pass(LOOK_EVERY_MS);
    }
  }

  async #write(writer: number, endMs: number): Promise<void> {
    while (performance.now() < endMs) await this.#writeOne(writer);
  }

  async #writeOne(writer: number): Promise<void> {
    const place = this.#dice.pick(PLACES);
    const id = `${writer}-${this.#dice.below(OBJECTS_PER_WRITER)}`;
    const n = ++this.#writes;
    await this.#push(place, id, n);
    this.#ledger.acknowledge(place, id, n);
  }

  /** Until it is acknowledged: what was left without an answer may have been done or not, and is done again. */
  async #push({ source, user }: LedgerPlace, id: string, n: number): Promise<void> {
    const body = { ...(user === null ? {} : { user_id: user }), objects: { [id]: { n } } };
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#fleet.call('POST', `/app/v1/${source}/push_objects`, body);
        return;
      } catch (error) {
        if (attempt === ATTEMPTS_MAX) throw error;
        this.#unanswered++;
        await pass(RETRY_MS);
      }
    }
  }

  /** Whichever server is asked, what was acknowledged before the question is in the answer. */
  async #lookForLosses(): Promise<void> {
    for (const place of PLACES) {
      const before = this.#ledger.expected(place);
      const objects = await this.#read(place);
      this.#problems.push(...this.#ledger.lostFrom(before, objects));
    }
  }

  async #read(place: LedgerPlace): Promise<LedgerObjects> {
    const path = `/rc/v1/users/${place.user ?? '*'}/sources/${place.source}/docs/md`;
    for (let attempt = 1; ; attempt++) {
      try {
        return (await this.#fleet.call('GET', path)) as LedgerObjects;
      } catch (error) {
        if (attempt === ATTEMPTS_MAX) throw error;
        await pass(RETRY_MS);
      }
    }
  }

  /** Devices are told, or find out: nobody asks them to look. Answers how long the last one took. */
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
      await pass(LOOK_EVERY_MS);
    }
  }

  #behind(): readonly string[] {
    return this.#devices.flatMap(({ user, device }, index) =>
      PLACES.filter((place) => place.user === null || place.user === user).flatMap((place) => {
        const held = device.source<{ n: number }>(place.source).list();
        const objects = Object.fromEntries(held.map(({ id, attributes: { n } }) => [id, { n }]));
        const expected = this.#ledger.expected(place);
        if (JSON.stringify(sorted(objects)) === JSON.stringify(expected)) return [];
        return [`device ${index} holds ${JSON.stringify(objects)} of ${place.source}, not ${JSON.stringify(expected)}`];
      }),
    );
  }
}

function sorted(objects: LedgerObjects): LedgerObjects {
  return Object.fromEntries(Object.entries(objects).sort(([left], [right]) => (left < right ? -1 : 1)));
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
