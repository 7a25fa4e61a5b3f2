import { fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { memoryStore, openDevice } from '@tidemark/client';
import { openFileStore } from '@tidemark/client/file-store';
import type { BenchDevice } from './device-world.ts';
import { newFolder } from './world.ts';

export interface FirstSyncOrder {
  readonly url: string;
  readonly source: string;
  readonly device: BenchDevice;
  /** `bare` fetches the snapshot and parses its lines, and does nothing else with them. */
  readonly way: 'memory' | 'file' | 'bare';
}

export interface FirstSyncCost {
  readonly objects: number;
  readonly cpuMs: number;
  readonly memoryBytes: number;
}

/** Makes a first sync in a process of its own, which has done nothing before. */
export async function measureFirstSync(order: FirstSyncOrder): Promise<FirstSyncCost> {
  const child = fork(fileURLToPath(import.meta.url));
  child.send(order);
  const [cost] = (await once(child, 'message')) as [FirstSyncCost];
  child.kill();
  return cost;
}

async function syncOnce(order: FirstSyncOrder): Promise<FirstSyncCost> {
  const folder = newFolder();
  const store = order.way === 'file' ? await openFileStore(folder) : memoryStore();
  await store.commit(sessionOf(order.device));
  const before = process.cpuUsage();
  const objects = order.way === 'bare' ? await fetchBare(order) : await sync(order, store);
  const { user, system } = process.cpuUsage(before);
  rmSync(folder, { recursive: true, force: true });
  return { objects, cpuMs: (user + system) / 1_000, memoryBytes: process.resourceUsage().maxRSS * 1_024 };
}

async function sync({ url, source }: FirstSyncOrder, store: ReturnType<typeof memoryStore>): Promise<number> {
  const device = await openDevice({ url, store, sources: [source], live: false });
  let objects = 0;
  device.status.subscribe(() => {
    objects = Math.max(objects, device.status.getSnapshot().progress?.total ?? 0);
  });
  await device.sync();
  return objects;
}

async function fetchBare({ url, source, device }: FirstSyncOrder): Promise<number> {
  const headers = { authorization: `Bearer ${device.token}` };
  const response = await fetch(`${url}/sync/v1/sources/${source}/snapshot`, { headers });
  let objects = 0;
  for (const line of (await response.text()).split('\n')) {
    if (line !== '') objects += Object.keys((JSON.parse(line) as { readonly put?: object }).put ?? {}).length;
  }
  return objects;
}

function sessionOf({ user: userId, client: clientId, token }: BenchDevice) {
  const session = { token, userId, clientId, givenAtMs: Date.now(), expiresAtMs: Date.now() + 86_400_000 };
  return [
    { table: 'facts', key: ['', 'session'], value: session },
    { table: 'facts', key: ['', 'owner'], value: { userId, clientId } },
  ] as const;
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  process.once('message', (order: FirstSyncOrder) => void syncOnce(order).then((cost) => process.send?.(cost)));
}
