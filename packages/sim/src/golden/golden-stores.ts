import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Device, openDevice } from '@tidemark/client';
import { openFileStore } from '@tidemark/client/file-store';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { openValkeyStore } from '@tidemark/store-valkey';
import { startValkey, temporaryFolder, type ValkeyServer } from '@tidemark/testing/kit';
import type { StoreWithJobs } from './golden-content.ts';

/** Runs the work on the embedded store in a folder. */
export async function onEmbedded<T>(folder: string, work: (store: StoreWithJobs) => Promise<T>): Promise<T> {
  const store = await openEmbeddedStore({ folder });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** The format of a folder of the embedded store. */
export async function embeddedFormat(folder: string): Promise<string> {
  return String(
    (JSON.parse(await readFile(join(folder, 'tidemark.json'), 'utf8')) as { readonly format: number }).format,
  );
}

/** Settings that allow to load and save the file with all data anywhere. */
const SETTINGS = { appendonly: 'no', 'enable-debug-command': 'yes', 'enable-protected-configs': 'yes' };

/** Runs the work on a Valkey server that has loaded `dump.rdb` of the folder if there is one, and saves it there. */
export async function onValkey<T>(
  folder: string,
  work: (store: StoreWithJobs, server: ValkeyServer) => Promise<T>,
): Promise<T> {
  const server = await startValkey({ settings: SETTINGS });
  try {
    await server.call('CONFIG', 'SET', 'dir', folder);
    if ((await readdir(folder)).includes('dump.rdb')) await server.call('DEBUG', 'RELOAD', 'NOSAVE');
    const store = await openValkeyStore({ address: server.address, answerMs: 300_000 });
    const result = await work(store, server).finally(() => store.close());
    await server.call('SAVE');
    return result;
  } finally {
    await server.remove();
  }
}

export async function valkeyFormat(server: ValkeyServer): Promise<string> {
  return String(await server.call('HGET', 'tidemark:{registry}:meta', 'format'));
}

/** A server that answers nothing: the device works with what it has stored. */
const NOWHERE = 'http://127.0.0.1:9';

/** Opens the device whose files are in the folder, without a network. */
export async function onDevice<T>(folder: string, work: (device: Device) => Promise<T>): Promise<T> {
  const fetch = () => Promise.reject(new TypeError('there is no network'));
  const platform = { fetch, network: null, tabs: null };
  const device = await openDevice({ url: NOWHERE, store: await openFileStore(folder), platform });
  try {
    return await work(device);
  } finally {
    await device.close();
  }
}

/** The format of the files of a device. */
export async function deviceFormat(folder: string): Promise<string> {
  const [name] = (await readdir(folder)).filter((file) => file.startsWith('device-'));
  const content = await readFile(join(folder, name ?? ''), 'utf8');
  return /^tidemark-device (\d+)\n/.exec(content)?.[1] ?? 'unknown';
}

/** Runs the work with a folder inside a temporary one. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const temporary = await temporaryFolder();
  const folder = join(temporary.path, 'golden');
  await mkdir(folder);
  try {
    return await work(folder);
  } finally {
    await temporary.remove();
  }
}
