import { rmSync } from 'node:fs';
import type { Tidemark } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import type { ChildServer } from './child-server.ts';
import { newFolder, tidemarkOn } from './fixture.ts';
import { PAGES_VARIABLE, startServerProcess } from './server-process.ts';

/** A whole server with devices. What there is to begin with is made by a library on the same folder. */
export interface DeviceFixture {
  readonly url: string;
  readonly port: number;
  /** What lies here is sent by the bare routes. */
  readonly pagesFolder: string;
  /** By the server itself, so that devices that listen hear of it. */
  push(source: string, objects: Readonly<Record<string, unknown>>, user?: string): Promise<void>;
  readonly server: Pick<ChildServer, 'cpuMs' | 'memoryBytes'>;
  close(): Promise<void>;
}

export interface BenchDevice {
  readonly user: string;
  readonly client: string;
  readonly token: string;
}

const DEVICES_PER_USER = 100;
const PASSWORD = 'only for this benchmark';

/** `prepare` works on the store before the server is started. `more` are settings of the server. */
export async function openDeviceFixture<T>(
  prepare: (tidemark: Tidemark) => Promise<T>,
  more: Readonly<Record<string, string>> = {},
): Promise<{ readonly fixture: DeviceFixture; readonly prepared: T }> {
  const folder = newFolder();
  const pagesFolder = newFolder();
  const store = await openEmbeddedStore({ folder });
  const tidemark = tidemarkOn(store);
  const user = await tidemark.users.ensure('pusher');
  const { token } = await tidemark.tokens.issue({ user, scopes: ['push'], expiresAtMs: null });
  const prepared = await prepare(tidemark);
  await store.close();
  const settings = { TIDEMARK_PORT: '0', TIDEMARK_DATA: folder, TIDEMARK_ADMIN_PASSWORD: PASSWORD, ...more };
  const server = await startServerProcess({ ...settings, [PAGES_VARIABLE]: pagesFolder });
  const push = async (source: string, objects: Readonly<Record<string, unknown>>, user?: string) => {
    const headers = { 'content-type': 'application/json', 'x-sync-api-token': token };
    const body = JSON.stringify(user === undefined ? { objects } : { user_id: user, objects });
    const response = await fetch(`${server.url}/app/v1/${source}/push_objects`, { method: 'POST', headers, body });
    const text = await response.text();
    if (response.status !== 200) throw new Error(text);
  };
  const close = async () => {
    await server.stop();
    for (const made of [folder, pagesFolder]) rmSync(made, { recursive: true, force: true });
  };
  const fixture = { url: server.url, port: Number(new URL(server.url).port), pagesFolder, push, server, close };
  return { fixture, prepared };
}

/** Devices of as few users as that takes, each with a token. */
export async function makeDevices(tidemark: Tidemark, count: number): Promise<readonly BenchDevice[]> {
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
