import { setTimeout as sleep } from 'node:timers/promises';
import { Rng, seededRandom } from '@tidemark/testing/kit';
import { FaultProxy, FEW_FAULTS } from '../faults/fault-proxy.ts';
import { ExpectedObjects } from '../model/objects.ts';
import { AdminClient } from '../processes/admin-client.ts';
import { DeviceProcess } from '../processes/device-process.ts';
import { BACKEND_SECRET, ChaosBackend } from './chaos-backend.ts';
import { ChaosCluster, type ChaosEngine } from './cluster.ts';
import { type ConvergenceParts, differencesOf } from './convergence.ts';
import { FieldDevice } from './field-devices.ts';
import { checkHints } from './hints.ts';
import { MembershipHistory } from './memberships.ts';
import { Nemesis } from './nemesis.ts';
import { GROUPS, USER_PASSWORD, USERS } from './partitions.ts';
import type { PlantName } from './plants.ts';
import { Pushers } from './pushers.ts';
import { Registers } from './registers.ts';
import { isLossy } from './replicated-store.ts';

export interface ChaosRunOptions {
  readonly seed: number;
  readonly engine: ChaosEngine;
  readonly servers: number;
  readonly folder: string;
  readonly plant: PlantName | null;
  /** The only faults to inject. Absent: all. */
  readonly faults?: readonly string[];
  /**
   * True: there are no other faults; the network and the backend work. Then events alone must bring changes to devices.
   * If servers are only killed, a partition has one query at a time and statistics are recorded once.
   */
  readonly isCalm?: boolean;
}

const DEVICES_PER_USER = 2;
/** How often all devices pull at the same time before the first fault, at whichever servers. */
const PULLS_AT_ONCE = 5;
const PAGE_OBJECTS = [1, 3, 10, 100, 5, 2];
const CALL_MS_MAX = 5_000;
const POLL_MS = 50;
const SETTLE_MS = 500;
const RECEIPT_PAUSE_MS_MAX = 150;
/** How long devices may take to hold everything once all faults are over; a machine may be slow. */
const CONVERGE_MS_MAX = 180_000;
const DRAIN_MS_MAX = 60_000;
/** Clocks run ahead while everything heals, so that leases of dead servers and pauses of retries end soon. */
const HEAL_STEP_MS = 20_000;
const HEAL_EVERY_MS = 1_000;

/** Everything in a chaos run: servers and their store, the network, a backend, pushers and devices, and what they know. */
export class ChaosRun {
  readonly problems: string[] = [];
  readonly pushers: Pushers;
  readonly nemesis: Nemesis;
  readonly devices: readonly FieldDevice[];
  readonly cluster: ChaosCluster;
  readonly backend: ChaosBackend;
  receipts = 0;
  readonly #networks: Readonly<Record<'devices' | 'pushers' | 'control', FaultProxy>>;
  readonly #registers = new Registers();
  readonly #memberships = new MembershipHistory();
  readonly #made = new ExpectedObjects();
  readonly #control: AdminClient;
  readonly #admin: AdminClient;
  readonly #rng: Rng;
  /** True: a failover may lose what was acknowledged. Then only what everything converges to is checked. */
  readonly #isLossy: boolean;
  readonly #isCalm: boolean;
  readonly #convergence: ConvergenceParts;

  private constructor(
    options: ChaosRunOptions,
    cluster: ChaosCluster,
    backend: ChaosBackend,
    networks: Readonly<Record<'devices' | 'pushers' | 'control', FaultProxy>>,
  ) {
    const rng = (salt: number) => new Rng(seededRandom(options.seed * 100 + salt));
    this.cluster = cluster;
    this.backend = backend;
    this.#networks = networks;
    this.#rng = rng(1);
    this.#isLossy = isLossy(options.engine);
    this.#isCalm = options.isCalm ?? false;
    this.#admin = new AdminClient(() => networks.pushers.url);
    this.#control = new AdminClient(() => networks.control.url);
    const shared = { registers: this.#registers, memberships: this.#memberships };
    this.pushers = new Pushers({ ...shared, admin: this.#admin, control: this.#control, rng: rng(2) });
    const { folder } = options;
    const onProblem = (problem: string) => this.problems.push(problem);
    const deviceNetwork = networks.devices;
    const { faults = null } = options;
    this.nemesis = new Nemesis({ cluster, backend, deviceNetwork, folder, rng: rng(3), onProblem, faults });
    this.devices = USERS.flatMap((user) => new Array<string>(DEVICES_PER_USER).fill(user)).map((login, index) => {
      const pageObjects = PAGE_OBJECTS[index] ?? 10;
      const live = this.#isCalm || index % 2 === 0;
      const { seed } = options;
      const { url } = networks.devices;
      const process = new DeviceProcess({
        index,
        url,
        login,
        password: USER_PASSWORD,
        folder,
        seed,
        pageObjects,
        live,
      });
      return new FieldDevice({
        ...{ ...shared, process, made: this.#made, rng: rng(10 + index) },
        ...{ isLossy: this.#isLossy, onProblem },
      });
    });
    const servers = cluster.servers.map(({ process }) => new AdminClient(() => process.url));
    this.#convergence = {
      ...{ ...shared, servers, devices: this.devices, backend, made: this.#made },
      isLossy: this.#isLossy,
    };
  }

  static async open(options: ChaosRunOptions): Promise<ChaosRun> {
    const rng = new Rng(seededRandom(options.seed));
    const backend = await ChaosBackend.open(rng);
    const cluster = await ChaosCluster.open({ ...options, backendSecret: BACKEND_SECRET, rng });
    const target = () => cluster.pickUrl();
    const networks = {
      devices: await FaultProxy.open({ seed: options.seed, target }),
      pushers: await FaultProxy.open({ seed: options.seed + 1, target, faults: FEW_FAULTS }),
      control: await FaultProxy.open({ seed: options.seed + 2, target }),
    };
    const run = new ChaosRun(options, cluster, backend, networks);
    try {
      await run.#populate();
    } catch (error) {
      await run.close();
      throw error;
    }
    return run;
  }

  /** Lets everybody work while faults are injected. */
  async disturb(durationMs: number): Promise<void> {
    const endMs = performance.now() + durationMs;
    const isOver = () => performance.now() >= endMs || this.problems.length > 0;
    this.#setFaults(!this.#isCalm);
    if (this.#isExact) this.backend.queries.watch();
    await Promise.all([
      this.nemesis.run(isOver),
      // One fault at a time leaves a server that can be asked, so that servers meet at their store more often.
      ...(this.#isCalm ? this.devices.map((device) => device.runPulls(isOver)) : [this.nemesis.run(isOver)]),
      this.pushers.run(isOver),
      this.pushers.run(isOver),
      this.pushers.run(isOver),
      this.pushers.runMembers(isOver),
      this.pushers.runDocuments(isOver),
      this.pushers.runDocuments(isOver),
      ...(this.#isLossy ? [] : [this.#checkReceipts(isOver)]),
      ...this.devices.map((device) => device.run(isOver)),
    ]);
    this.#setFaults(false);
    // From now on clocks run ahead of the leases of queries.
    this.backend.queries.pause();
  }

  /** Checks, before any fault, that events alone bring changes to devices, and pulls at once do not query at once. Clocks do not run ahead. */
  async checkCalm(): Promise<void> {
    const { pushers, devices } = this;
    const until = (what: string, isDone: () => Promise<boolean>) => this.#untilDone(what, isDone, { stepMs: 0 });
    if (this.#isExact) this.backend.queries.watch();
    await checkHints({ pushers, devices, memberships: this.#memberships, until });
    for (let count = 0; count < PULLS_AT_ONCE; count++) await Promise.all(devices.map((device) => device.pull()));
    this.problems.push(...this.backend.queries.problems);
  }

  /** Checks that statistics of the whole installation were recorded by one server at a time. */
  async checkStatistics(): Promise<void> {
    if (!this.#isExact) return;
    const steps = (await this.#control.call('GET', '/rc/v1/system/stats?metric=users')) as { readonly count: number }[];
    if (steps.length === 0) this.problems.push('no server counted the users');
    for (const { count } of steps) if (count !== 1) this.problems.push(`users were counted ${count} times in a step`);
  }

  /** True: servers are only killed, so none is held up while another one does its work. */
  get #isExact(): boolean {
    return this.#isCalm && this.nemesis.faults.every((fault) => fault === 'kill_server');
  }

  /** Ends all faults and checks that everything converges, then that a change of groups does. Returns how long it took. */
  async heal(): Promise<number> {
    const startMs = performance.now();
    this.#checkServers();
    if ((await this.#drain()) && (await this.#converge((user) => this.#memberships.groupsOf(user)))) {
      await this.#converge(() => GROUPS.filter(() => this.#rng.chance(50)));
    }
    this.problems.push(...this.backend.problems, ...this.backend.queries.problems);
    this.pushers.recent.length = 0;
    return performance.now() - startMs;
  }

  /** Sets the groups of all users and a last value of every object. Then all must hold exactly that. */
  async #converge(groupsOf: (user: string) => readonly string[]): Promise<boolean> {
    const isSet = await this.#untilDone('the last pushes are acknowledged', async () => {
      for (const user of USERS) {
        await this.pushers.setGroups(user, groupsOf(user));
        this.#memberships.settle(user, performance.now());
      }
      await this.pushers.settle();
      return true;
    });
    this.problems.push(...this.#registers.torn, ...(this.#isLossy ? [] : this.#registers.problems()));
    if (!isSet || this.problems.length > 0) return false;
    let differences: readonly string[] = [];
    const isSame = await this.#untilDone('all servers and devices hold what was acknowledged', async () => {
      differences = await differencesOf(this.#convergence);
      return differences.length === 0;
    });
    this.problems.push(...differences);
    this.#registers.settle();
    return isSame;
  }

  async close(): Promise<void> {
    await Promise.all(this.devices.map(({ process }) => process.close()));
    await Promise.all(Object.values(this.#networks).map((network) => network.close()));
    await this.cluster.close();
    await this.backend.close();
  }

  async #populate(): Promise<void> {
    const { adminPassword = '' } = this.cluster.servers[0]?.process ?? {};
    const call = this.#control.call.bind(this.#control);
    await this.#control.logIn(adminPassword);
    await this.#admin.logIn(adminPassword);
    for (const server of this.#convergence.servers) await server.logIn(adminPassword);
    await call('POST', '/rc/v1/system/appserver', { adapter_url: this.backend.url });
    await call('POST', '/rc/v1/sources', { name: 'Product', partition_type: 'app' });
    await call('POST', '/rc/v1/sources', { name: 'Order' });
    await call('POST', '/rc/v1/sources', { name: 'Visit', partition_type: 'group' });
    await call('POST', '/rc/v1/sources', { name: 'Task', adapter: 'backend', poll_interval: 2 });
    await call('POST', '/rc/v1/sources', { name: 'Trip', adapter: 'backend', poll_interval: 2, cud_queue: 'trips' });
    // Every pull queries it, so that servers must agree again and again on who does.
    const stock = { name: 'Stock', partition_type: 'app', adapter: 'backend', poll_interval: 0 };
    if (this.#isCalm) await call('POST', '/rc/v1/sources', stock);
    for (const login of USERS) {
      await call('POST', '/rc/v1/users', { attributes: { login, password: USER_PASSWORD } });
      await this.pushers.setGroups(login, GROUPS);
    }
    await this.pushers.settle();
    this.#registers.settle();
    for (const device of this.devices) await device.open();
    // Nobody else repeats what is made above; from here on, a call that a fault has swallowed is given up soon.
    for (const client of [this.#control, this.#admin, ...this.#convergence.servers]) client.callMsMax = CALL_MS_MAX;
  }

  #setFaults(areOn: boolean): void {
    this.#networks.devices.hasFaults = areOn;
    this.#networks.pushers.hasFaults = areOn;
    this.backend.hasFaults = areOn;
  }

  /** Checks that a receipt never counts more devices than hold the change, or may hold it. */
  async #checkReceipts(isOver: () => boolean): Promise<void> {
    const { recent } = this.pushers;
    while (!isOver()) {
      await sleep(this.#rng.below(RECEIPT_PAUSE_MS_MAX));
      const candidates = recent.filter(({ register }) => register.partition.group === undefined);
      if (candidates.length === 0) continue;
      const { register, value, seq } = this.#rng.pick(candidates);
      const { source, user_id: user } = register.partition;
      const query = `seq=${seq}${user === undefined ? '' : `&user_id=${user}`}`;
      const path = `/rc/v1/sources/${source}/receipts?${query}`;
      const receipt = await this.#control.call('GET', path).catch(() => null);
      if (receipt === null) continue;
      this.receipts++;
      const { delivered } = receipt as { readonly delivered: number };
      const devices = this.devices.filter(({ process }) => user === undefined || process.login === user);
      const holders = devices.filter((device) => device.mayHold(source, register.id, value)).length;
      if (delivered > holders) {
        this.problems.push(
          `the receipt of ${register.id} = ${value} (seq ${seq}) counts ${delivered} devices, but only ${holders} hold it`,
        );
      }
    }
  }

  /** A server that nobody killed must still run. */
  #checkServers(): void {
    for (const { index, process } of this.cluster.servers) {
      if (!process.isRunning) this.problems.push(`server ${index} has ended by itself: ${process.stderr}`);
    }
  }

  /** Waits until no request is under way whose caller has given up: it could still take effect. */
  async #drain(): Promise<boolean> {
    await sleep(SETTLE_MS);
    const isDrained = await this.#untilDone(
      'servers have answered every request',
      async () => this.#networks.pushers.openRequests + this.#networks.control.openRequests === 0,
      { msMax: DRAIN_MS_MAX },
    );
    await sleep(SETTLE_MS);
    return isDrained;
  }

  async #untilDone(
    what: string,
    isDone: () => Promise<boolean>,
    { msMax = CONVERGE_MS_MAX, stepMs = HEAL_STEP_MS } = {},
  ): Promise<boolean> {
    const startMs = performance.now();
    let nextStepMs = startMs + HEAL_EVERY_MS;
    let failure = '';
    for (;;) {
      try {
        if (await isDone()) return true;
      } catch (error) {
        failure = `: ${error}`;
      }
      const nowMs = performance.now();
      if (this.problems.length > 0) return false;
      if (nowMs - startMs > msMax) {
        this.problems.push(`after ${msMax} ms without faults it is not true that ${what}${failure}`);
        return false;
      }
      if (nowMs >= nextStepMs) {
        this.cluster.setClock(this.cluster.clockMs + stepMs);
        nextStepMs = nowMs + HEAL_EVERY_MS;
      }
      await sleep(POLL_MS);
    }
  }
}
