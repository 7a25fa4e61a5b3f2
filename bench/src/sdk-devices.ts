import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Device, memoryStore, openDevice } from '@tidemark/client';
import type { BenchDevice } from './device-fixture.ts';

/** Devices with the SDK, in a process of their own, so that they cost the server's process nothing. */
export interface SdkDevices {
  /** When each of them had the next change, in milliseconds since 1970. */
  changed(): Promise<readonly number[]>;
  close(): void;
}

interface Order {
  readonly url: string;
  readonly source: string;
  readonly devices: readonly BenchDevice[];
}

/** Resolves when all of them listen and hold everything. */
export async function startSdkDevices(order: Order): Promise<SdkDevices> {
  const child = fork(fileURLToPath(import.meta.url));
  child.send(order);
  await messageOf(child);
  return { changed: () => messageOf(child), close: () => void child.kill() };
}

async function messageOf(child: ChildProcess): Promise<readonly number[]> {
  const [times] = (await once(child, 'message')) as [readonly number[]];
  return times;
}

/** In the child. Whoever has a change says when, once all have it. */
async function openAll({ url, source, devices }: Order): Promise<void> {
  let times: number[] = [];
  const onChange = () => {
    times.push(performance.timeOrigin + performance.now());
    if (times.length < devices.length) return;
    process.send?.(times);
    times = [];
  };
  for (const one of devices) {
    const device = await openSignedIn(url, one);
    await device.sync();
    await untilLive(device);
    await device.sync();
    device.source(source).subscribe(onChange);
  }
  process.send?.([]);
}

function openSignedIn(url: string, { user: userId, client: clientId, token }: BenchDevice): Promise<Device> {
  const session = { token, userId, clientId, givenAtMs: Date.now(), expiresAtMs: Date.now() + 86_400_000 };
  const store = memoryStore([
    { table: 'facts', key: ['', 'session'], value: session },
    { table: 'facts', key: ['', 'owner'], value: { userId, clientId } },
  ]);
  return openDevice({ url, store });
}

async function untilLive({ status }: Device): Promise<void> {
  if (status.getSnapshot().isLive) return;
  await new Promise<void>((resolve) => {
    const stop = status.subscribe(() => {
      if (!status.getSnapshot().isLive) return;
      stop();
      resolve();
    });
  });
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  process.once('message', (order: Order) => void openAll(order));
}
