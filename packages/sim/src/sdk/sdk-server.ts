import { type Adapter, JobFailure, type Jobs, type LeasedJob, Tidemark, UPLOAD_QUEUE } from '@tidemark/core';
import { type JsonValue, type PushAnswer, type PushRequest, Refusal } from '@tidemark/protocol';
import { InProcessSync, openMemoryJobs, openMemoryStore, seededRandom, VirtualPlatform } from '@tidemark/testing/kit';
import { PLAIN_PASSWORDS, SILENT_LOG } from '../model/core-parts.ts';
import { Violation } from '../runner/violation.ts';
import { canonicalName } from './app-versions.ts';
import type { SdkPlant } from './plant.ts';
import { SchemaVersions } from './schema-versions.ts';
import { type Attributes, type Objects, type Owner, type SourceName, USERS } from './step.ts';

const LEASE_MS = 60_000;
const RETRY_MS = 2_000;
const JOBS_PER_RUN = 50;
/** Pulls of one device without any pause. What a history has needs far fewer. */
const PULLS_WITHOUT_PAUSE_MAX = 40;

/** A server with its backend, reached by devices in this process. Each device has an address of its own. */
export class SdkServer {
  readonly platform: VirtualPlatform;
  readonly tidemark: Tidemark;
  readonly sync: InProcessSync;
  readonly versions: SchemaVersions;
  /** Errors and broken rules that were noticed while devices worked. */
  readonly violations: unknown[] = [];
  /** Groups for which queries fail. */
  failing: ReadonlySet<string> = new Set();
  isDown = false;
  /** Hosts of devices whose calls with these paths get lost. */
  readonly blocked = new Map<string, readonly string[]>();
  readonly #jobs: Jobs;
  readonly plant: SdkPlant;
  readonly #generations = new Map<string, number>(USERS.map((user) => [user, 1]));
  readonly #pulls = new Map<string, { nowMs: number; count: number }>();
  /** The ids that the backend has given. It answers the same upload the same. */
  readonly #given = new Map<string, string>();

  constructor(seed: number, plant: SdkPlant) {
    const random = seededRandom(seed);
    this.plant = plant;
    this.platform = new VirtualPlatform((url, init) => this.#answer(url, init), seed);
    const clock = { nowMs: () => this.platform.nowMs() };
    this.#jobs = openMemoryJobs({ clock });
    const store = openMemoryStore({ random });
    this.tidemark = new Tidemark({
      ...{ store: plant.store?.(store) ?? store, jobs: this.#jobs, adapters: { find: () => this.#adapter() } },
      ...{ clock, random, passwords: PLAIN_PASSWORDS, log: SILENT_LOG },
    });
    this.versions = new SchemaVersions(this.tidemark);
    this.sync = new InProcessSync(this.tidemark, () => this.platform.nowMs());
    this.sync.sendsPages = true;
    this.sync.onChanged = (change, send) => (plant.event === undefined ? send(change) : plant.event(change, send));
  }

  async open(): Promise<void> {
    const { sources, users } = this.tidemark;
    const uploading = { adapter: 'backend', poll_interval: -1 };
    await sources.declare({ name: 'Order', partition_type: 'user', ...uploading });
    await sources.declare({ name: 'Visit', partition_type: 'group' });
    await sources.declare({ name: 'Task', partition_type: 'group', ...uploading });
    await sources.declare({ name: 'Trip', partition_type: 'group', adapter: 'backend', poll_interval: 0 });
    await this.versions.open();
    for (const login of USERS) await users.create({ attributes: { login, password: this.password(login) } });
  }

  /** Names the person who has the login now. */
  person(login: string): string {
    return `${login}#${this.#generations.get(login)}`;
  }

  password(login: string): string {
    return `password of ${this.person(login)}`;
  }

  async replaceUser(login: string): Promise<void> {
    await this.tidemark.users.delete(login);
    this.#generations.set(login, (this.#generations.get(login) ?? 0) + 1);
    await this.tidemark.users.create({ attributes: { login, password: this.password(login) } });
  }

  async objects({ source, group, user }: Owner): Promise<Objects> {
    const whose = group !== null ? { group } : { user_id: user };
    const objects = await this.tidemark.objects.read({ source, ...whose });
    return new Map(Array.from(objects, ([id, attributes]) => [id, this.versions.canonical(source, attributes)]));
  }

  /** What the server says about an object on a device. */
  explain(client: string | null, { source, group }: Owner, id: string): Promise<{ readonly verdict: string }> {
    return this.tidemark.delivery.explain(client, source, id, group ?? undefined);
  }

  async runJobs(): Promise<void> {
    for (const job of await this.#jobs.leaseMany(UPLOAD_QUEUE, LEASE_MS, JOBS_PER_RUN)) await this.#run(job);
  }

  async jobsLeft(): Promise<number> {
    const { due, delayed, waiting, leased } = (await this.#jobs.describe(UPLOAD_QUEUE)).counts;
    return due + delayed + waiting + leased;
  }

  async #run(job: LeasedJob): Promise<void> {
    try {
      await this.tidemark.devices.runUpload(job);
      await this.#jobs.acknowledge(job);
      this.versions.settle();
    } catch (error) {
      if (!(error instanceof JobFailure) && !(error instanceof Refusal)) throw error;
      if (error instanceof JobFailure && error.isFinal) await this.#jobs.bury(job, error.message);
      else await this.#jobs.retry(job, this.platform.nowMs() + RETRY_MS, error.message);
    }
  }

  #adapter(): Adapter {
    const decide = async ({ source, attributes }: { readonly source: string; readonly attributes?: unknown }) => {
      if (this.isDown) throw new Refusal('backend_unavailable', 'the backend is down');
      if (attributes !== undefined) this.#checkAsked(source as SourceName, attributes as Attributes);
      await this.versions.meet('ask', source as SourceName);
    };
    return {
      query: async ({ source, partition = '' }) => {
        if (this.failing.has(partition)) throw new Refusal('backend_unavailable', 'the backend fails for this group');
        if (partition === '') return { objects: {} };
        const attributes = this.versions.stated(source as SourceName, { g: partition }) as JsonValue;
        return { objects: { [`t-${partition}`]: attributes } };
      },
      // The backend names objects itself.
      create: async (call) => {
        await decide(call);
        const id = this.#given.get(call.opId) ?? `k${this.#given.size + 1}`;
        this.#given.set(call.opId, id);
        return id;
      },
      update: decide,
      delete: decide,
    };
  }

  /** The backend knows nothing of older versions. */
  #checkAsked(source: SourceName, attributes: Attributes): void {
    try {
      this.versions.canonical(source, attributes);
    } catch (error) {
      this.violations.push(error);
    }
  }

  async #answer(url: string, given: RequestInit): Promise<Response> {
    const { host, pathname } = new URL(url);
    const path = pathname.slice('/sync/v1'.length);
    if (this.blocked.get(host)?.includes(path) === true) throw new TypeError('the connection was refused');
    if (path === '/pull' && !this.#mayPull(host)) return this.platform.hang(given);
    const init = this.plant.request?.(host, path, given) ?? given;
    const persons = USERS.map((login) => this.person(login));
    const race = path === '/push' ? this.versions.meet('push', null) : null;
    const response = await this.sync.fetch(url, init);
    await race;
    if (path === '/push') await this.#checkPush(init, response.clone(), persons);
    this.versions.settle();
    return this.plant.answer?.(host, path, response) ?? response;
  }

  /** Notices a device that pulls again and again without a pause. */
  #mayPull(host: string): boolean {
    const nowMs = this.platform.nowMs();
    const before = this.#pulls.get(host);
    const count = before?.nowMs === nowMs ? before.count + 1 : 1;
    this.#pulls.set(host, { nowMs, count });
    if (count <= PULLS_WITHOUT_PAUSE_MAX) return true;
    this.violations.push(new Violation('SIM-22', `${host} pulls ${count} times without a pause`));
    return false;
  }

  /** Nothing that was made for one person is applied for another. `persons` are those who had the logins when it was sent. */
  async #checkPush({ body }: RequestInit, response: Response, persons: readonly string[]): Promise<void> {
    if (!response.ok) return;
    const { outcomes } = (await response.json()) as PushAnswer;
    const taken = new Set(outcomes.flatMap(({ op_id, status }) => (status === 'rejected' ? [] : op_id)));
    const { changes } = JSON.parse(String(body)) as PushRequest;
    for (const { op_id, attributes } of changes) {
      const of = Object.entries(attributes ?? {}).find(([name]) => canonicalName(name) === 'of')?.[1];
      if (typeof of !== 'string' || !taken.has(op_id)) continue;
      if (persons.includes(of)) continue;
      this.violations.push(new Violation('SIM-20', `what ${of} wrote is uploaded for one of ${persons.join(', ')}`));
    }
  }
}
