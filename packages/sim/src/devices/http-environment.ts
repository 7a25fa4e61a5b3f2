import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Device, openDevice, type Platform } from '@tidemark/client';
import { openFileStore } from '@tidemark/client/file-store';
import type { PartitionKey } from '@tidemark/core';
import { ServerProcess, seededRandom, type TemporaryFolder, temporaryFolder } from '@tidemark/testing/kit';
import { type Corrupt, DEVICE_HEADER, FaultProxy } from '../faults/fault-proxy.ts';
import { callOf } from '../model/partition.ts';
import type { ObjectsGiven } from '../model/write.ts';
import { AdminClient } from '../processes/admin-client.ts';
import { fastPlatform } from '../processes/fast-platform.ts';
import {
  type Environment,
  type EnvironmentOptions,
  type OpenEnvironment,
  type Plant,
  RequestLog,
} from './environment.ts';
import { USERS } from './step.ts';

const TURN_MS = 5;
const USER_PASSWORD = 'a password for devices';

/** One run of a device, from its start until it is killed. */
interface DeviceProcess {
  readonly controller: AbortController;
  readonly folder: string;
}

/** A real server in a process of its own, HTTP through a proxy with faults, and devices that store files. */
export class HttpEnvironment implements Environment {
  readonly requests = new RequestLog();
  readonly #options: EnvironmentOptions;
  readonly #folder: TemporaryFolder;
  readonly #server: ServerProcess;
  readonly #admin: AdminClient;
  readonly #processes: DeviceProcess[] = [];
  readonly #devices = new Set<Device>();
  #proxy: FaultProxy | null = null;
  #processCount = 0;

  private constructor(options: EnvironmentOptions, folder: TemporaryFolder) {
    this.#options = options;
    this.#folder = folder;
    this.#server = new ServerProcess({ folder: join(folder.path, 'server'), env: { TIDEMARK_LOG_LEVEL: 'silent' } });
    this.#admin = new AdminClient(() => this.#server.url);
  }

  static with({ corrupt = (_, body) => body }: Plant = {}): OpenEnvironment {
    return async (options) => {
      const environment = new HttpEnvironment(options, await temporaryFolder());
      try {
        await environment.#open(corrupt);
      } catch (error) {
        await environment.close();
        throw error;
      }
      return environment;
    };
  }

  async openDevice(index: number): Promise<Device> {
    const process = this.#processes[index] ?? this.#newProcess(index);
    this.#processes[index] = process;
    const device = await openDevice({
      url: this.#openProxy().url,
      store: await openFileStore(process.folder),
      platform: this.#platform(index, process),
      pageObjects: this.#options.pageObjects,
      live: (this.#options.seed + index) % 2 === 0,
    });
    this.#devices.add(device);
    if (device.status.getSnapshot().mode === 'signed_out') {
      await device.signIn({ login: this.#options.users[index] as string, password: USER_PASSWORD });
    }
    return device;
  }

  /** Cuts the device off, then copies its files as they are: what a killed process leaves behind. */
  async killDevice(index: number, device: Device): Promise<void> {
    const old = this.#processes[index] as DeviceProcess;
    old.controller.abort();
    const process = this.#newProcess(index);
    for (const name of await readdir(old.folder)) {
      if (name.startsWith('device-')) await cp(join(old.folder, name), join(process.folder, name));
    }
    this.#processes[index] = process;
    this.#devices.delete(device);
    await device.close();
  }

  async killServer(): Promise<void> {
    await this.#server.kill();
    await this.#server.start();
  }

  async put(partition: PartitionKey, objects: ObjectsGiven): Promise<void> {
    const { source, ...user } = callOf(partition);
    await this.#admin.call('POST', `/app/v1/${source}/push_objects`, { ...user, objects });
  }

  async delete(partition: PartitionKey, ids: readonly string[]): Promise<void> {
    const { source, ...user } = callOf(partition);
    await this.#admin.call('POST', `/app/v1/${source}/push_deletes`, { ...user, objects: ids });
  }

  async read({ source, user }: PartitionKey): Promise<ObjectsGiven> {
    return (await this.#admin.call('GET', `/rc/v1/users/${user ?? '*'}/sources/${source}/docs/md`)) as ObjectsGiven;
  }

  setFaults(areOn: boolean): void {
    this.#openProxy().hasFaults = areOn;
  }

  wait(turns: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, turns * TURN_MS));
  }

  finish<T>(promise: Promise<T>): Promise<T> {
    return promise;
  }

  async close(): Promise<void> {
    for (const device of this.#devices) await device.close();
    await this.#proxy?.close();
    await this.#server.kill();
    await this.#folder.remove();
  }

  async #open(corrupt: Corrupt): Promise<void> {
    await this.#server.start();
    await this.#admin.logIn(this.#server.adminPassword);
    await this.#admin.call('POST', '/rc/v1/sources', { name: 'Order', partition_type: 'user' });
    await this.#admin.call('POST', '/rc/v1/sources', { name: 'Product', partition_type: 'app' });
    for (const login of USERS) {
      await this.#admin.call('POST', '/rc/v1/users', { attributes: { login, password: USER_PASSWORD } });
    }
    this.#proxy = await FaultProxy.open({
      seed: this.#options.seed,
      target: () => this.#server.url,
      onForward: ({ device, path, body }) => this.requests.record(device, path, body.toString()),
      corrupt,
    });
  }

  #newProcess(index: number): DeviceProcess {
    const folder = join(this.#folder.path, `device-${index}-${this.#processCount++}`);
    return { controller: new AbortController(), folder };
  }

  /** A killed device sends nothing any more. */
  #platform(index: number, { controller }: DeviceProcess): Partial<Platform> {
    const random = seededRandom(this.#options.seed * 1_000 + this.#processCount);
    const fast = fastPlatform((url, init, original) => {
      controller.signal.throwIfAborted();
      const headers = { ...(init.headers as Record<string, string>), [DEVICE_HEADER]: String(index) };
      const signal = AbortSignal.any([controller.signal, ...(init.signal ? [init.signal] : [])]);
      return original(url, { ...init, headers, signal });
    });
    return { ...fast, randomBytes: (count) => random.bytes(count) };
  }

  #openProxy(): FaultProxy {
    if (this.#proxy === null) throw new Error('the environment is not open');
    return this.#proxy;
  }
}
