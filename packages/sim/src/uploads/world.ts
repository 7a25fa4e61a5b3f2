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
import { Dice, openMemoryJobs, openMemoryStore, seededRandom } from '@tidemark/testing/kit';
import { jitterStore } from '../histories/jitter-store.ts';
import { Ledger, personIn } from './ledger.ts';
import { ModelDevice } from './model-device.ts';
import { Office } from './office.ts';
import type { UploadPlant } from './planted-bugs.ts';
import { ServerLife } from './server-life.ts';
import { QUEUE, SOURCES, SPACES, type Space, sourceAt, type UploadHistory, USERS } from './step.ts';

export const LEASE_MS = 60_000;
const RETRY_MS = 2_000;
const FIRST_DAY_MS = 1_700_000_000_000;
const QUEUES = [QUEUE, UPLOAD_QUEUE];

/** Everything one run of a history works on. */
export class World {
  readonly history: UploadHistory;
  readonly ledger = new Ledger();
  readonly clock = { ms: FIRST_DAY_MS, nowMs: () => this.clock.ms };
  readonly office: Office;
  readonly devices: ModelDevice[] = [];
  /** Sees the store as it is, at once and without bugs. */
  readonly observer: ServerLife;
  readonly #plant: UploadPlant;
  readonly #store: Store;
  readonly #jobs: Jobs;
  /** Errors that are neither a refusal nor a broken rule. */
  readonly #errors: unknown[] = [];
  #server: ServerLife;
  #jitter = 0;

  constructor(history: UploadHistory, plant: UploadPlant) {
    const random = seededRandom(history.seed + 1);
    this.history = history;
    this.#plant = plant;
    this.office = new Office(this.ledger, history.backend, new Dice(seededRandom(history.seed + 2)));
    const store = openMemoryStore({ random });
    const jobs = openMemoryJobs({ clock: this.clock });
    this.observer = new ServerLife({ store, jobs, adapter: this.office, clock: this.clock, random });
    this.#store = jitterStore(plant.store?.(store) ?? store, () => this.#jitter);
    this.#jobs = plant.jobs?.(jobs, store) ?? jobs;
    this.#server = this.#startServer();
    this.office.push = async ({ source, user }, id, attributes) => {
      const call = { source, ...(user === null ? {} : { user_id: user }) };
      const { tidemark } = this.#server;
      await (attributes === null
        ? tidemark.pushDeletes({ ...call, objects: [id] })
        : tidemark.pushObjects({ ...call, objects: { [id]: attributes } })
      ).catch(refusalIsFine);
    };
  }

  async open(): Promise<void> {
    const { tidemark } = this.observer;
    for (const { name, isShared, queue, refersTo } of SOURCES) {
      const partition_type = isShared ? 'app' : 'user';
      const references = refersTo === null ? {} : { references: { parent: refersTo } };
      const cud_queue = queue === null ? {} : { cud_queue: queue };
      await tidemark.sources.declare({
        ...{ name, partition_type, adapter: 'office', poll_interval: 0 },
        ...references,
        ...cud_queue,
      });
    }
    for (const user of USERS) await this.#makeUser(user);
  }

  /** The sets of objects that anything happens to. */
  get spaces(): readonly Space[] {
    const names = new Set(this.history.sources.map((at) => sourceAt(at).name));
    return SPACES.filter(({ source }) => names.has(source));
  }

  /** Does something and waits until nothing moves any more, but what waits for the office. */
  async during(jitter: number, act: () => Promise<void> | void): Promise<void> {
    this.#jitter = jitter;
    await act();
    // Everything here lives in microtasks, so the next turn of the event loop finds it at rest.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#errors.length > 0) throw this.#errors[0];
  }

  /** Sends all that has no answer yet. It is not waited for. */
  push(device: ModelDevice, times: number, acknowledges: boolean): void {
    const changes = device.outbox;
    const acknowledged = acknowledges ? device.acknowledged() : new Map<string, readonly string[]>();
    device.pushes++;
    const current = device.pushes;
    for (let count = 0; count < times; count++) {
      this.#begin(async () => {
        const outcomes = await this.#server.tidemark.devices.push(device, { changes, acknowledged });
        if (device.pushes === current) for (const outcome of outcomes) device.tell(outcome);
      });
    }
  }

  /** Pulls everything from the beginning. It is not waited for. */
  pull(device: ModelDevice, acknowledges: boolean): void {
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
    this.office.forget(user);
    await this.#makeUser(user);
  }

  crash(): void {
    this.#server.kill();
    this.office.dropHeld();
    this.#server = this.#startServer();
  }

  /** Jobs that will still run. */
  async jobsLeft(): Promise<number> {
    let left = 0;
    for (const queue of QUEUES) {
      const { due, delayed, waiting, leased } = (await this.observer.jobs.describe(queue)).counts;
      left += due + delayed + waiting + leased;
    }
    return left;
  }

  #startServer(): ServerLife {
    const adapter = this.#plant.adapter?.(this.office, this.observer.tidemark) ?? this.office;
    const random = seededRandom(this.history.seed + 3);
    return new ServerLife({ store: this.#store, jobs: this.#jobs, adapter, clock: this.clock, random });
  }

  /** A person with devices, under the same ids as those of whoever had the login before. */
  async #makeUser(user: string): Promise<void> {
    const { tidemark } = this.observer;
    await tidemark.users.create({ attributes: { login: user, password: 'open sesame' } });
    for (const [index, owner] of this.history.devices.entries()) {
      if (owner !== user) continue;
      const client = `client${index}`;
      await tidemark.clients.register(user, { client_id: client });
      this.devices[index] = new ModelDevice({ user, client, index }, this.ledger, this.office);
    }
  }

  #pulled(device: ModelDevice, call: DevicePullCall): Promise<DevicePull> {
    const { user, client } = device;
    const pull = () => this.#server.tidemark.devices.pull({ user, client }, call);
    return this.#plant.pull?.(pull) ?? pull();
  }

  #receive(device: ModelDevice, { pages, outcomes }: DevicePull): void {
    for (const { source, page } of pages) {
      if ('error' in page) continue;
      const { put = {} } = JSON.parse(pageJson(page.token, page.body)) as Page;
      for (const [id, attributes] of Object.entries(put)) this.#checkOwner(device, `${source} ${id}`, attributes);
      device.holds(source, new Set(Object.keys(put)));
    }
    for (const outcome of outcomes) device.tell(outcome);
  }

  #checkOwner(device: ModelDevice, what: string, attributes: Readonly<Record<string, unknown>>): void {
    for (const value of Object.values(attributes)) {
      const person = personIn(value);
      const isOwn = person === null || person === 'all' || person === device.person;
      this.ledger.demand(isOwn, 'UPSIM-3', () => `a device of ${device.person} was given ${what} of ${person}`);
    }
  }

  #begin(work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      if (!(error instanceof Refusal)) this.#errors.push(error);
    });
  }
}

async function runJob({ tidemark, jobs }: ServerLife, job: LeasedJob, nowMs: number): Promise<void> {
  try {
    await tidemark.devices.runUpload(job);
    await jobs.acknowledge(job);
  } catch (error) {
    if (!(error instanceof JobFailure) && !(error instanceof Refusal)) throw error;
    if (error instanceof JobFailure && error.isFinal) await jobs.bury(job, error.message);
    else await jobs.retry(job, nowMs + RETRY_MS, error.message);
  }
}

function refusalIsFine(error: unknown): void {
  if (!(error instanceof Refusal)) throw error;
}
