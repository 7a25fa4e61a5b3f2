import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Device, defaultPlatform, openDevice, type Platform } from '@tidemark/client';
import { openFileStore } from '@tidemark/client/file-store';
import { type PushRequest, parseJson } from '@tidemark/protocol';
import { seededRandom, type TemporaryFolder, temporaryFolder } from '@tidemark/testing/kit';
import { DEVICE_HEADER, FaultProxy, type Forwarded } from './fault-proxy.ts';
import { ADMIN_PASSWORD, ServerProcess } from './server-process.ts';
import type { Corrupt, Flaws, MakeStage, PlainObjects, SeenUpload, Stage, StageOptions } from './stage.ts';
import { type Place, USERS } from './step.ts';

/** Devices wait this many times shorter than they would: pauses of seconds become those of milliseconds. */
const HASTE = 20;
const TURN_MS = 5;
const USER_PASSWORD = 'a password for devices';

interface Life {
  readonly controller: AbortController;
  readonly folder: string;
}

/** A real server in a process of its own, real HTTP through a proxy with faults, devices with files. */
export class HttpStage implements Stage {
  readonly #options: StageOptions;
  readonly #folder: TemporaryFolder;
  readonly #server: ServerProcess;
  readonly #lives: Life[] = [];
  readonly #devices = new Set<Device>();
  readonly #pulls: number[];
  readonly #uploads: SeenUpload[] = [];
  #proxy: FaultProxy | null = null;
  #token = '';
  #lifeCount = 0;

  private constructor(options: StageOptions, folder: TemporaryFolder) {
    this.#options = options;
    this.#folder = folder;
    this.#server = new ServerProcess(join(folder.path, 'server'));
    this.#pulls = options.users.map(() => 0);
  }

  static with({ corrupt = (_, body) => body }: Flaws = {}): MakeStage {
    return async (options) => {
      const stage = new HttpStage(options, await temporaryFolder());
      try {
        await stage.#open(corrupt);
      } catch (error) {
        await stage.close();
        throw error;
      }
      return stage;
    };
  }

  async openDevice(index: number): Promise<Device> {
    const life = this.#lives[index] ?? this.#newLife(index);
    this.#lives[index] = life;
    const device = await openDevice({
      url: this.#proxyOf().url,
      store: await openFileStore(life.folder),
      platform: this.#platform(index, life),
      pageObjects: this.#options.pageObjects,
      live: (this.#options.seed + index) % 2 === 0,
    });
    this.#devices.add(device);
    if (device.status.getSnapshot().mode === 'signed_out') {
      await device.signIn({ login: this.#options.users[index] as string, password: USER_PASSWORD });
    }
    return device;
  }

  /** First nothing leaves it any more, then its files are as they are: what a process leaves behind that was killed. */
  async killDevice(index: number, device: Device): Promise<void> {
    const old = this.#lives[index] as Life;
    old.controller.abort();
    const life = this.#newLife(index);
    for (const name of await readdir(old.folder)) {
      if (name.startsWith('device-')) await cp(join(old.folder, name), join(life.folder, name));
    }
    this.#lives[index] = life;
    this.#devices.delete(device);
    await device.close();
  }

  async killServer(): Promise<void> {
    await this.#server.kill();
    await this.#server.start();
  }

  async put({ source, user }: Place, objects: PlainObjects): Promise<void> {
    await this.#admin('POST', `/app/v1/${source}/push_objects`, { ...userOf(user), objects });
  }

  async delete({ source, user }: Place, ids: readonly string[]): Promise<void> {
    await this.#admin('POST', `/app/v1/${source}/push_deletes`, { ...userOf(user), objects: ids });
  }

  async read({ source, user }: Place): Promise<PlainObjects> {
    return (await this.#admin('GET', `/rc/v1/users/${user ?? '*'}/sources/${source}/docs/md`)) as PlainObjects;
  }

  setBadNetwork(isBad: boolean): void {
    this.#proxyOf().isBad = isBad;
  }

  letGo(turns: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, turns * TURN_MS));
  }

  finish<T>(promise: Promise<T>): Promise<T> {
    return promise;
  }

  pulls(device: number): number {
    return this.#pulls[device] ?? 0;
  }

  uploads(): readonly SeenUpload[] {
    return this.#uploads;
  }

  async close(): Promise<void> {
    for (const device of this.#devices) await device.close();
    await this.#proxy?.close();
    await this.#server.kill();
    await this.#folder.remove();
  }

  async #open(corrupt: Corrupt): Promise<void> {
    await this.#server.start();
    this.#token = String(
      await this.#admin('POST', '/rc/v1/system/login', { login: 'admin', password: ADMIN_PASSWORD }),
    );
    await this.#admin('POST', '/rc/v1/sources', { name: 'Order', partition_type: 'user' });
    await this.#admin('POST', '/rc/v1/sources', { name: 'Product', partition_type: 'app' });
    for (const login of USERS) {
      await this.#admin('POST', '/rc/v1/users', { attributes: { login, password: USER_PASSWORD } });
    }
    this.#proxy = await FaultProxy.open({
      seed: this.#options.seed,
      target: () => this.#server.url,
      onForward: (forwarded) => this.#note(forwarded),
      corrupt,
    });
  }

  async #admin(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(new URL(path, this.#server.url), {
      method,
      headers: {
        'content-type': 'application/json',
        ...(this.#token === '' ? {} : { 'x-sync-api-token': this.#token }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`);
    return response.headers.get('content-type')?.startsWith('application/json') ? parseJson(text) : text;
  }

  #newLife(index: number): Life {
    const folder = join(this.#folder.path, `device-${index}-${this.#lifeCount++}`);
    return { controller: new AbortController(), folder };
  }

  /** Time runs faster, and a dead device is not heard any more. */
  #platform(index: number, { controller }: Life): Partial<Platform> {
    const own = defaultPlatform();
    const random = seededRandom(this.#options.seed * 1_000 + this.#lifeCount);
    return {
      randomBytes: (count) => random.bytes(count),
      after: (ms, callback) => own.after(ms / HASTE, callback),
      fetch: (url, init) => {
        controller.signal.throwIfAborted();
        const headers = { ...(init.headers as Record<string, string>), [DEVICE_HEADER]: String(index) };
        const signal = AbortSignal.any([controller.signal, ...(init.signal ? [init.signal] : [])]);
        return own.fetch(url, { ...init, headers, signal });
      },
      network: null,
    };
  }

  #note({ device, path, body }: Forwarded): void {
    if (path === '/sync/v1/pull') this.#pulls[device] = (this.#pulls[device] ?? 0) + 1;
    if (path !== '/sync/v1/push') return;
    for (const upload of (parseJson(body.toString()) as PushRequest).changes) {
      this.#uploads.push({ device, opId: upload.op_id, text: JSON.stringify(upload) });
    }
  }

  #proxyOf(): FaultProxy {
    if (this.#proxy === null) throw new Error('the stage is not open');
    return this.#proxy;
  }
}

function userOf(user: string | null): { readonly user_id?: string } {
  return user === null ? {} : { user_id: user };
}
