import {
  type DevicePull,
  type DevicePullCall,
  JobFailure,
  type Jobs,
  type LeasedJob,
  pageJson,
  type Store,
  UPLOAD_QUEUE,
} from '@tidemark/core';
import { type Page, Refusal } from '@tidemark/protocol';
import { openMemoryJobs, openMemoryStore, Rng, seededRandom } from '@tidemark/testing/kit';
import { delayedStore } from '../faults/delayed-store.ts';
import type { ModelPartition } from '../model/partition.ts';
import { callOf } from '../model/partition.ts';
import { KillableServer } from './killable-server.ts';
import { Ledger, personIn } from './ledger.ts';
import { ModelBackend } from './model-backend.ts';
import type { Plant } from './planted-bugs.ts';
import { PARTITIONS, QUEUE, SOURCES, sourceAt, type UploadsHistory, USERS } from './step.ts';
import { UploadingDevice } from './uploading-device.ts';

const LEASE_MS = 60_000;
const RETRY_MS = 2_000;
const FIRST_DAY_MS = 1_700_000_000_000;
const QUEUES = [QUEUE, UPLOAD_QUEUE];

/** Everything that one run of a history works on. */
export class HistoryRun {
  readonly history: UploadsHistory;
  readonly ledger = new Ledger();
  readonly clock = { ms: FIRST_DAY_MS, nowMs: () => this.clock.ms };
  readonly backend: ModelBackend;
  readonly devices: UploadingDevice[] = [];
  /** A server on the same store without delays and without the planted bug. */
  readonly observer: KillableServer;
  readonly #plant: Plant;
  readonly #store: Store;
  readonly #jobs: Jobs;
  /** Errors that are neither a refusal nor a broken rule. */
  readonly #errors: unknown[] = [];
  #server: KillableServer;
  #delaySeed = 0;

  constructor(history: UploadsHistory, plant: Plant) {
    const random = seededRandom(history.seed + 1);
    this.history = history;
    this.#plant = plant;
    this.backend = new ModelBackend(this.ledger, history.backend, new Rng(seededRandom(history.seed + 2)));
    const store = openMemoryStore({ random });
    const jobs = openMemoryJobs({ clock: this.clock });
    this.observer = new KillableServer({ store, jobs, adapter: this.backend, clock: this.clock, random });
    this.#store = delayedStore(plant.store?.(store) ?? store, () => this.#delaySeed);
    this.#jobs = plant.jobs?.(jobs, store) ?? jobs;
    this.#server = this.#startServer();
    this.backend.push = async ({ source, user }, id, attributes) => {
      const call = callOf({ source, user });
      const { tidemark } = this.#server;
      await (attributes === null
        ? tidemark.objects.pushDeletes({ ...call, objects: [id] })
        : tidemark.objects.push({ ...call, objects: { [id]: attributes } })
      ).catch(ignoreRefusal);
    };
  }

  async open(): Promise<void> {
    const { tidemark } = this.observer;
    for (const { name, isShared, queue, refersTo } of SOURCES) {
      const partition_type = isShared ? 'app' : 'user';
      const references = refersTo === null ? {} : { references: { parent: refersTo } };
      const cud_queue = queue === null ? {} : { cud_queue: queue };
      await tidemark.sources.declare({
        ...{ name, partition_type, adapter: 'backend', poll_interval: 0 },
        ...references,
        ...cud_queue,
      });
    }
    for (const user of USERS) await this.#makeUser(user);
  }

  /** The partitions that this history uses. */
  get partitions(): readonly ModelPartition[] {
    const names = new Set(this.history.sources.map((at) => sourceAt(at).name));
    return PARTITIONS.filter(({ source }) => names.has(source));
  }

  /** Performs a step and waits until only calls held by the backend are still open. */
  async during(delaySeed: number, act: () => Promise<void> | void): Promise<void> {
    this.#delaySeed = delaySeed;
    await act();
    // Everything runs in microtasks, so all of it is done by the next turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#errors.length > 0) throw this.#errors[0];
  }

  /** Sends all uploads without an answer. Returns at once. */
  push(device: UploadingDevice, times: number, acknowledges: boolean): void {
    const changes = device.outbox;
    const acknowledged = acknowledges ? device.acknowledged() : new Map<string, readonly string[]>();
    device.pushes++;
    const current = device.pushes;
    for (let count = 0; count < times; count++) {
      this.#begin(async () => {
        const outcomes = await this.#server.tidemark.devices.push(device, { changes, acknowledged });
        if (device.pushes === current) for (const outcome of outcomes) device.receiveOutcome(outcome);
      });
    }
  }

  /** Pulls everything from the beginning. Returns at once. */
  pull(device: UploadingDevice, acknowledges: boolean): void {
    const acknowledged = acknowledges ? device.acknowledged() : new Map<string, readonly string[]>();
    const call = { sources: new Map(this.history.sources.map((at) => [sourceAt(at).name, null])), acknowledged };
    this.#begin(async () => this.#receive(device, await this.#pulled(device, call)));
  }

  runJobs(count: number): void {
    const server = this.#server;
    this.#begin(async () => {
      for (const queue of QUEUES) {
        for (const job of await server.jobs.leaseMany(queue, LEASE_MS, count))
          this.#begin(() => runJob(server, job, this.clock.ms));
      }
    });
  }

  async replaceUser(user: string): Promise<void> {
    await this.#server.tidemark.users.delete(user);
    this.ledger.replacePerson(user);
    this.backend.forget(user);
    await this.#makeUser(user);
  }

  crash(): void {
    this.#server.kill();
    this.backend.dropHeld();
    this.#server = this.#startServer();
  }

  /** Counts the jobs that will still run. */
  async jobsLeft(): Promise<number> {
    let left = 0;
    for (const queue of QUEUES) {
      const { due, delayed, waiting, leased } = (await this.observer.jobs.describe(queue)).counts;
      left += due + delayed + waiting + leased;
    }
    return left;
  }

  #startServer(): KillableServer {
    const adapter = this.#plant.adapter?.(this.backend, this.observer.tidemark) ?? this.backend;
    const random = seededRandom(this.history.seed + 3);
    return new KillableServer({ store: this.#store, jobs: this.#jobs, adapter, clock: this.clock, random });
  }

  /** Creates a user with devices, under the same ids as those of the previous user of the login. */
  async #makeUser(user: string): Promise<void> {
    const { tidemark } = this.observer;
    await tidemark.users.create({ attributes: { login: user, password: 'open sesame' } });
    for (const [index, owner] of this.history.devices.entries()) {
      if (owner !== user) continue;
      const client = `client${index}`;
      await tidemark.clients.register(user, { client_id: client });
      this.devices[index] = new UploadingDevice({ user, client, index }, this.ledger, this.backend);
    }
  }

  #pulled(device: UploadingDevice, call: DevicePullCall): Promise<DevicePull> {
    const { user, client } = device;
    const pull = () => this.#server.tidemark.devices.pull({ user, client }, call);
    return this.#plant.pull?.(pull) ?? pull();
  }

  #receive(device: UploadingDevice, { pages, outcomes }: DevicePull): void {
    for (const { source, page } of pages) {
      if ('error' in page) continue;
      const { put = {} } = JSON.parse(pageJson(page.token, page.body)) as Page;
      for (const [id, attributes] of Object.entries(put)) this.#checkOwner(device, `${source} ${id}`, attributes);
      device.holds(source, new Set(Object.keys(put)));
    }
    for (const outcome of outcomes) device.receiveOutcome(outcome);
  }

  #checkOwner(device: UploadingDevice, what: string, attributes: Readonly<Record<string, unknown>>): void {
    for (const value of Object.values(attributes)) {
      const person = personIn(value);
      const isOwn = person === null || person === 'all' || person === device.person;
      this.ledger.demand(isOwn, 'UPSIM-3', () => `a device of ${device.person} got ${what} of ${person}`);
    }
  }

  #begin(work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      if (!(error instanceof Refusal)) this.#errors.push(error);
    });
  }
}

async function runJob({ tidemark, jobs }: KillableServer, job: LeasedJob, nowMs: number): Promise<void> {
  try {
    await tidemark.devices.runUpload(job);
    await jobs.acknowledge(job);
  } catch (error) {
    if (!(error instanceof JobFailure) && !(error instanceof Refusal)) throw error;
    if (error instanceof JobFailure && error.isFinal) await jobs.bury(job, error.message);
    else await jobs.retry(job, nowMs + RETRY_MS, error.message);
  }
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof Refusal)) throw error;
}
