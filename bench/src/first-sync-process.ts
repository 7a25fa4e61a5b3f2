import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { memoryStore, openDevice, type Versions } from '@tidemark/client';
import { openFileStore } from '@tidemark/client/file-store';
import { addChecksums, attributesChecksum, type JsonValue } from '@tidemark/protocol';
import type { BenchDevice } from './device-fixture.ts';
import { newFolder } from './fixture.ts';

type Attributes = Readonly<Record<string, JsonValue>>;

export interface FirstSyncOrder {
  readonly url: string;
  readonly source: string;
  readonly device: BenchDevice;
  /**
   * `bare` fetches the snapshot and parses its lines, and does nothing else with them. `least` also computes the checksum
   * of the objects, freezes them and puts them into a map: what no device with the promises of the SDK can do without.
   */
  readonly way: 'memory' | 'file' | 'bare' | 'least';
  /** What the app was built with; it reads the list of objects once. Absent: it does not say, and reads nothing. */
  readonly versions?: Versions;
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
  const objects = await (order.way === 'bare' || order.way === 'least' ? fetchSnapshot(order) : sync(order, store));
  const { user, system } = process.cpuUsage(before);
  rmSync(folder, { recursive: true, force: true });
  return { objects, cpuMs: (user + system) / 1_000, memoryBytes: peakMemoryBytes() };
}

async function sync({ url, source, versions }: FirstSyncOrder, store: ReturnType<typeof memoryStore>): Promise<number> {
  const device = await openDevice({
    ...{ url, store, sources: [source], live: false },
    ...(versions === undefined ? {} : { versions }),
  });
  let objects = 0;
  device.status.subscribe(() => {
    objects = Math.max(objects, device.status.getSnapshot().progress?.total ?? 0);
  });
  await device.sync();
  if (versions !== undefined && device.source(source).list().length !== objects) throw new Error('objects are missing');
  return objects;
}

async function fetchSnapshot({ url, source, device, way }: FirstSyncOrder): Promise<number> {
  const headers = { authorization: `Bearer ${device.token}` };
  const response = await fetch(`${url}/sync/v1/sources/${source}/snapshot`, { headers });
  const held = new Map<string, Attributes>();
  let objects = 0;
  let checksum = 0;
  for (const line of (await response.text()).split('\n')) {
    if (line === '') continue;
    const { put = {} } = JSON.parse(line) as { readonly put?: Readonly<Record<string, Attributes>> };
    const ids = Object.keys(put);
    objects += ids.length;
    if (way === 'bare') continue;
    for (const id of ids) {
      const attributes = put[id] as Attributes;
      checksum = addChecksums(checksum, attributesChecksum(id, attributes));
      held.set(id, freezeDeep(attributes));
    }
  }
  return way === 'bare' || (held.size === objects && checksum > 0) ? objects : 0;
}

function freezeDeep<T extends object>(value: T): T {
  for (const inner of Object.values(value))
    if (typeof inner === 'object' && inner !== null) freezeDeep(inner as object);
  return Object.freeze(value);
}

/** `maxRSS` is also that of the process which started this one, and therefore only used where there is nothing better. */
function peakMemoryBytes(): number {
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? process.resourceUsage().maxRSS;
  return Number(kilobytes) * 1_024;
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
