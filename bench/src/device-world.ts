import { rmSync } from 'node:fs';
import type { Tidemark } from '@tidemark/core';
import { compose, readConfig } from '@tidemark/server';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { newFolder, tidemarkOn } from './world.ts';

/** A whole server with devices. What the devices need is made by a library on the same folder. */
export interface DeviceWorld {
  readonly url: string;
  readonly port: number;
  /** On the same store as the server, but without its ears: what is written here no device is told of. */
  readonly tidemark: Tidemark;
  /** By the server itself, so that devices that listen hear of it. */
  push(source: string, objects: Readonly<Record<string, unknown>>): Promise<void>;
  close(): Promise<void>;
}

export interface BenchDevice {
  readonly user: string;
  readonly client: string;
  readonly token: string;
}

const DEVICES_PER_USER = 100;
const PASSWORD = 'only for this benchmark';

export async function openDeviceWorld(settings: Readonly<Record<string, string>> = {}): Promise<DeviceWorld> {
  const folder = newFolder();
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const env = { TIDEMARK_PORT: '0', TIDEMARK_DATA: folder, TIDEMARK_ADMIN_PASSWORD: PASSWORD, ...settings };
  const server = await compose(readConfig(env), silent);
  const store = await openEmbeddedStore({ folder });
  const tidemark = tidemarkOn(store);
  const { token } = await tidemark.tokens.issue({ user: 'admin', scopes: ['push'], expiresAtMs: null });
  return {
    url: server.url,
    port: Number(new URL(server.url).port),
    tidemark,
    async push(source, objects) {
      const headers = { 'content-type': 'application/json', 'x-sync-api-token': token };
      const body = JSON.stringify({ objects });
      const response = await fetch(`${server.url}/app/v1/${source}/push_objects`, { method: 'POST', headers, body });
      const text = await response.text();
      if (response.status !== 200) throw new Error(text);
    },
    async close() {
      await store.close();
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Devices of as few users as that takes, each with a token. */
export async function makeDevices({ tidemark }: DeviceWorld, count: number): Promise<readonly BenchDevice[]> {
  const devices: BenchDevice[] = [];
  while (devices.length < count) {
    const user = await tidemark.users.ensure(`user ${devices.length}`);
    const wanted = Math.min(DEVICES_PER_USER, count - devices.length);
    devices.push(...(await Promise.all(Array.from({ length: wanted }, () => makeDevice(tidemark, user)))));
  }
  return devices;
}

async function makeDevice(tidemark: Tidemark, user: string): Promise<BenchDevice> {
  const { client_id: client } = await tidemark.clients.register(user, {});
  const { token } = await tidemark.tokens.issue({ user, client, scopes: ['device'], expiresAtMs: null });
  return { user, client, token };
}
