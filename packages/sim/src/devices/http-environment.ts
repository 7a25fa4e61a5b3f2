import { join } from 'node:path';
import type { Device } from '@tidemark/client';
import { ServerProcess, type TemporaryFolder, temporaryFolder } from '@tidemark/testing/kit';
import { type Corrupt, FaultProxy } from '../faults/fault-proxy.ts';
import type { ModelPartition } from '../model/partition.ts';
import { callOf } from '../model/partition.ts';
import type { ObjectsGiven } from '../model/write.ts';
import { AdminClient } from '../processes/admin-client.ts';
import { DeviceProcess } from '../processes/device-process.ts';
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

/** A real server in a process of its own, HTTP through a proxy with faults, and devices that store files. */
export class HttpEnvironment implements Environment {
  readonly requests = new RequestLog();
  readonly #options: EnvironmentOptions;
  readonly #folder: TemporaryFolder;
  readonly #server: ServerProcess;
  readonly #admin: AdminClient;
  readonly #processes: DeviceProcess[] = [];
  #proxy: FaultProxy | null = null;

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

  openDevice(index: number): Promise<Device> {
    const known = this.#processes[index] ?? this.#newProcess(index);
    this.#processes[index] = known;
    return known.open();
  }

  async killDevice(index: number): Promise<void> {
    await this.#processes[index]?.kill();
  }

  async killServer(): Promise<void> {
    await this.#server.kill();
    await this.#server.start();
  }

  async put(partition: ModelPartition, objects: ObjectsGiven): Promise<void> {
    const { source, ...user } = callOf(partition);
    await this.#admin.call('POST', `/app/v1/${source}/push_objects`, { ...user, objects });
  }

  async delete(partition: ModelPartition, ids: readonly string[]): Promise<void> {
    const { source, ...user } = callOf(partition);
    await this.#admin.call('POST', `/app/v1/${source}/push_deletes`, { ...user, objects: ids });
  }

  async read({ source, user }: ModelPartition): Promise<ObjectsGiven> {
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
    for (const device of this.#processes) await device.close();
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
    const { seed, users, pageObjects } = this.#options;
    return new DeviceProcess({
      index,
      url: this.#openProxy().url,
      login: users[index] as string,
      password: USER_PASSWORD,
      folder: this.#folder.path,
      seed,
      pageObjects,
      live: (seed + index) % 2 === 0,
    });
  }

  #openProxy(): FaultProxy {
    if (this.#proxy === null) throw new Error('the environment is not open');
    return this.#proxy;
  }
}
