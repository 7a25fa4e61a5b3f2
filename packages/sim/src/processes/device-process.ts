import { cp, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Device, openDevice, type Platform } from '@tidemark/client';
import { openFileStore } from '@tidemark/client/file-store';
import { seededRandom } from '@tidemark/testing/kit';
import { DEVICE_HEADER } from '../faults/fault-proxy.ts';
import { fastPlatform } from './fast-platform.ts';

export interface DeviceProcessOptions {
  readonly index: number;
  readonly url: string;
  readonly login: string;
  readonly password: string;
  /** Where the device makes its folders. */
  readonly folder: string;
  readonly seed: number;
  readonly pageObjects: number;
  /** Whether it uses an event stream. */
  readonly live: boolean;
}

/** One run of the device, from its start until it is killed. */
interface Life {
  readonly controller: AbortController;
  readonly folder: string;
}

/** An SDK device with a file store. It can be killed as a process is, and opened again with what it had stored. */
export class DeviceProcess {
  readonly index: number;
  readonly login: string;
  readonly #options: DeviceProcessOptions;
  #life: Life | null = null;
  #lives = 0;
  #device: Device | null = null;

  constructor(options: DeviceProcessOptions) {
    this.#options = options;
    this.index = options.index;
    this.login = options.login;
  }

  /** Null while it is killed. */
  get device(): Device | null {
    return this.#device;
  }

  /** Opens the device with what it stored before, signed in. */
  async open(): Promise<Device> {
    const { url, login, password, pageObjects, live } = this.#options;
    const life = this.#life ?? this.#newLife();
    this.#life = life;
    const store = await openFileStore(life.folder);
    const device = await openDevice({ url, store, platform: this.#platform(life), pageObjects, live });
    this.#device = device;
    if (device.status.getSnapshot().mode === 'signed_out') await attempt(() => device.signIn({ login, password }));
    return device;
  }

  /** Cuts the device off, then copies its files as they are: what a killed process leaves behind. */
  async kill(): Promise<void> {
    const { device } = this;
    const old = this.#life;
    if (old === null || device === null) return;
    this.#device = null;
    old.controller.abort();
    const life = this.#newLife();
    await mkdir(life.folder, { recursive: true });
    for (const name of await readdir(old.folder)) {
      if (name.startsWith('device-')) await cp(join(old.folder, name), join(life.folder, name));
    }
    this.#life = life;
    await attempt(() => device.close());
  }

  async close(): Promise<void> {
    const { device } = this;
    this.#device = null;
    if (device !== null) await attempt(() => device.close());
  }

  #newLife(): Life {
    const folder = join(this.#options.folder, `device-${this.index}-${this.#lives++}`);
    return { controller: new AbortController(), folder };
  }

  /** A killed device sends nothing any more. */
  #platform({ controller }: Life): Partial<Platform> {
    const random = seededRandom(this.#options.seed * 1_000_000 + this.index * 1_000 + this.#lives);
    const fast = fastPlatform((url, init, original) => {
      controller.signal.throwIfAborted();
      const headers = { ...(init.headers as Record<string, string>), [DEVICE_HEADER]: String(this.index) };
      const signal = AbortSignal.any([controller.signal, ...(init.signal ? [init.signal] : [])]);
      return original(url, { ...init, headers, signal });
    });
    return { ...fast, randomBytes: (count) => random.bytes(count) };
  }
}

/** Time-outs of devices are short here, so that a busy machine may need several attempts. */
const ATTEMPTS_MAX = 20;

async function attempt(work: () => Promise<void>): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await work();
    } catch (error) {
      if (attempts === ATTEMPTS_MAX) throw error;
    }
  }
}
