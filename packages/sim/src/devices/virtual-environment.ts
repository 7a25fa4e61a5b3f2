import { type Device, type LocalStore, openDevice } from '@tidemark/client';
import type { Tidemark } from '@tidemark/core';
import { CrashingStore, InProcessSync, newTidemark, Rng, seededRandom, VirtualPlatform } from '@tidemark/testing/kit';
import { EventFaults } from '../faults/event-faults.ts';
import { DiskFiles } from '../model/disk-files.ts';
import type { ModelPartition } from '../model/partition.ts';
import { callOf } from '../model/partition.ts';
import type { ObjectsGiven } from '../model/write.ts';
import {
  type Environment,
  type EnvironmentOptions,
  type OpenEnvironment,
  type Plant,
  RequestLog,
} from './environment.ts';
import { DISK_DEVICE, SOURCES } from './step.ts';

/** What may go wrong with a message, with its chance in percent while faults are on. */
const FAULTS = [
  ['lost', 12],
  ['unanswered', 8],
  ['answer_lost', 14],
  ['doubled', 8],
  ['cut', 8],
  ['refused', 4],
  ['none', 46],
] as const;
type Fault = (typeof FAULTS)[number][0];

/** Turns of the event loop after which nothing is expected to happen any more; those after the quick ones take 1 ms. */
const TURNS_MAX = 20_000;
const QUICK_TURNS = 2_000;

/** Server and devices in this process and in virtual time: fast, and nearly the same in every run. Code that is loaded when it is needed takes real time. */
export class VirtualEnvironment implements Environment {
  readonly requests = new RequestLog();
  readonly #tidemark: Tidemark;
  readonly #sync: InProcessSync;
  readonly #rng: Rng;
  readonly #plant: Plant;
  readonly #options: EnvironmentOptions;
  readonly #stores: CrashingStore[];
  readonly #disk: DiskFiles;
  /** The run of the device whose sources are on the disk. */
  #diskRun = { isDead: false };
  readonly #platforms: VirtualPlatform[] = [];
  #hasFaults = false;
  #starts = 0;

  private constructor(tidemark: Tidemark, options: EnvironmentOptions, plant: Plant) {
    this.#plant = plant;
    this.#tidemark = tidemark;
    this.#sync = new InProcessSync(tidemark, () => 1_700_000_000_000);
    this.#rng = new Rng(seededRandom(options.seed ^ 0x5eed));
    this.#sync.sendsPages = true;
    const faults = new EventFaults(new Rng(seededRandom(options.seed ^ 0xe7e27)));
    const { event = (change) => change } = plant;
    this.#sync.onChanged = (change, send) => {
      if (this.#hasFaults) faults.deliver(event(change), send);
      else send(event(change));
    };
    this.#options = options;
    this.#stores = options.users.map(() => new CrashingStore([], null));
    this.#disk = new DiskFiles({ ...plant.disk, ...(plant.damage === undefined ? {} : { found: plant.damage }) });
  }

  static with(plant: Plant = {}): OpenEnvironment {
    return async (options) => {
      const { tidemark } = await newTidemark();
      return new VirtualEnvironment(tidemark, options, plant);
    };
  }

  async openDevice(index: number): Promise<Device> {
    const isOnDisk = index === DISK_DEVICE;
    const store = isOnDisk ? this.#openDisk() : await this.#openMemory(index);
    // Every run of a device draws other random bytes: ids must not repeat.
    const seed = this.#options.seed * 1_000 + this.#starts++;
    const platform: VirtualPlatform = new VirtualPlatform(
      (url, init) => this.#forward(index, platform, url, init),
      seed,
    );
    this.#platforms[index] = platform;
    const { pageObjects } = this.#options;
    const device = await openDevice({
      url: 'http://tidemark.test',
      store,
      platform,
      pageObjects,
      live: this.#rng.chance(50),
    });
    if (isOnDisk) for (const name of SOURCES) device.source(name, { keep: 'disk', indexes: ['value'] });
    if (device.status.getSnapshot().mode !== 'signed_out') return device;
    const login = this.#options.users[index] as string;
    await this.finish(device.signIn({ login, password: 'long enough' }));
    return device;
  }

  async #openMemory(index: number): Promise<LocalStore> {
    const { damage = (rows) => rows } = this.#plant;
    const store = new CrashingStore(damage(await (this.#stores[index] as CrashingStore).survivors()), null);
    this.#stores[index] = store;
    return store;
  }

  #openDisk(): LocalStore {
    this.#diskRun = { isDead: false };
    return this.#disk.open(this.#diskRun);
  }

  async killDevice(index: number, device: Device): Promise<void> {
    await this.wait(this.#rng.below(3));
    if (index === DISK_DEVICE) this.#diskRun.isDead = true;
    else (this.#stores[index] as CrashingStore).die();
    this.#platforms[index]?.forgetTimers();
    // The store of a dead device ignores this, but the device stops sending requests.
    device.close().catch(() => undefined);
  }

  /** There is no process to kill, so only the event streams end. */
  async killServer(): Promise<void> {
    this.#sync.endStreams();
  }

  async put(partition: ModelPartition, objects: ObjectsGiven): Promise<void> {
    await this.#tidemark.objects.push({ ...callOf(partition), objects });
  }

  async delete(partition: ModelPartition, ids: readonly string[]): Promise<void> {
    await this.#tidemark.objects.pushDeletes({ ...callOf(partition), objects: ids });
  }

  async read(partition: ModelPartition): Promise<ObjectsGiven> {
    return Object.fromEntries(await this.#tidemark.objects.read(callOf(partition)));
  }

  setFaults(areOn: boolean): void {
    this.#hasFaults = areOn;
  }

  async wait(turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn++) await this.#turn();
  }

  async finish<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    promise.then(done, done);
    for (let turn = 0; !isDone; turn++) {
      if (turn > TURNS_MAX) throw new Error('nothing happens any more');
      await this.#turn();
      // Loading code takes real time, which turns in quick succession do not give it.
      if (turn > QUICK_TURNS) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return promise;
  }

  async close(): Promise<void> {
    for (const platform of this.#platforms) platform.forgetTimers();
  }

  /** Every device has a clock of its own. */
  async #turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    for (const platform of this.#platforms) platform.tick();
  }

  async #forward(index: number, platform: VirtualPlatform, url: string, given: RequestInit): Promise<Response> {
    const init = this.#corrupted(url, given);
    const fault = this.#drawFault();
    if (fault === 'lost') throw new TypeError('the connection was refused');
    if (fault === 'refused') return Response.json({ code: 'overloaded', detail: 'later' }, { status: 503 });
    this.requests.record(index, new URL(url).pathname, String(init.body));
    if (fault === 'doubled') await this.#sync.fetch(url, init);
    const response = await this.#sync.fetch(url, init);
    if (fault === 'answer_lost') throw new TypeError('the connection broke');
    if (fault === 'unanswered') return platform.hang(init);
    if (fault !== 'cut' || new URL(url).pathname.endsWith('/events')) return response;
    const text = await response.text();
    return new Response(text.slice(0, this.#rng.below(text.length + 1)), { status: response.status });
  }

  #corrupted(url: string, init: RequestInit): RequestInit {
    const { corrupt } = this.#plant;
    if (typeof init.body !== 'string' || corrupt === undefined) return init;
    return { ...init, body: corrupt(new URL(url).pathname, Buffer.from(init.body)).toString() };
  }

  #drawFault(): Fault {
    const fault = this.#rng.weighted<Fault>(FAULTS);
    return this.#hasFaults ? fault : 'none';
  }
}
