import { readFile } from 'node:fs/promises';
import { type Device, type DeviceOptions, memoryStore, openDevice as openRealDevice } from '@tidemark/client';
import { newDeviceFixture } from '@tidemark/testing';
import { expect, it } from 'vitest';
import * as reactNative from './index.ts';

const read = (path: string) => readFile(new URL(path, import.meta.url), 'utf8');
const IMPORT = /^import (?:\{ (?<names>[^}]+) \}|\* as (?<module>\w+)) from '(?<from>[^']+)';$/gm;

/** Returns the samples of the guide by their name. */
async function samples(): Promise<ReadonlyMap<string, string>> {
  const guide = await read('../../../docs/sdk/react-native.md');
  return new Map(Array.from(guide.matchAll(/```ts (\w+)\n([\s\S]*?)```/g), ([, name = '', code = '']) => [name, code]));
}

type Names = Readonly<Record<string, unknown>>;

/** Runs a sample with these names instead of its imports, and returns those of its own that are asked for. */
async function run(code: string, names: Names, results: readonly string[]): Promise<Record<string, unknown>> {
  const body = `${code.replace(IMPORT, '')}\nreturn { ${results.join(', ')} };`;
  const AsyncFunction = (async () => undefined).constructor as new (
    ...parts: string[]
  ) => (...values: unknown[]) => Promise<Record<string, unknown>>;
  return new AsyncFunction(...Object.keys(names), body)(...Object.values(names));
}

class SecureStoreStandIn {
  readonly AFTER_FIRST_UNLOCK = 1;
  readonly items = new Map<string, string>();
  readonly getItemAsync = async (name: string) => this.items.get(name) ?? null;
  readonly setItemAsync = async (name: string, value: string) => void this.items.set(name, value);
  readonly deleteItemAsync = async (name: string) => void this.items.delete(name);
}

it('[PHONE-51] the samples of the guide work, from opening the device to a sync in the background', async () => {
  const fixture = await newDeviceFixture();
  const found = await samples();
  expect([...found.keys()]).toEqual(['device', 'background', 'pushes', 'keychain']);
  const opened: DeviceOptions[] = [];
  const openDevice = (options: DeviceOptions) => {
    opened.push(options);
    const { fetch, tabs: _, ...own } = options.platform ?? {};
    return openRealDevice({ ...options, live: false, platform: { ...fixture.platform, ...own, fetch: carry } });
  };
  const carry = (url: string, init: RequestInit) => fixture.sync.fetch(url, init);
  const listener = () => ({ remove: () => undefined });
  const statements: string[] = [];
  const database = { execAsync: async (statement: string) => void statements.push(statement) };
  const system = {
    openDatabaseAsync: async () => database,
    openSqliteStore: async () => memoryStore(),
    expoSqlite: (given: unknown) => given,
    getRandomBytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
    Network: { getNetworkStateAsync: async () => ({ isConnected: true }), addNetworkStateListener: listener },
    AppState: { currentState: 'active', addEventListener: listener },
    Platform: { OS: 'ios', Version: '19.0' },
  };
  const { device } = (await run(found.get('device') ?? '', { ...reactNative, openDevice, ...system }, ['device'])) as {
    device: Device;
  };
  await device.signIn({ login: 'ada', password: 'long enough' });
  await device.sync();
  expect(opened[0]?.about).toEqual({ platform: 'ios', system: 'ios 19.0' });

  const tasks = new Map<string, () => Promise<unknown>>();
  const TaskManager = { defineTask: (name: string, task: () => Promise<unknown>) => tasks.set(name, task) };
  const BackgroundTask = {
    registerTaskAsync: async (name: string, options: object) =>
      expect([tasks.has(name), options]).toEqual([true, { minimumInterval: 60 }]),
  };
  const BackgroundTaskResult = { Success: 'success', Failed: 'failed' };
  const background = { ...reactNative, TaskManager, BackgroundTask, BackgroundTaskResult, device };
  await run(found.get('background') ?? '', background, []);
  expect(await tasks.get('tidemark-sync')?.()).toBe('success');

  const Notifications = {
    getPermissionsAsync: async () => ({ granted: true }),
    getDevicePushTokenAsync: async () => ({ type: 'ios', data: 'ab'.repeat(32) }),
    addPushTokenListener: listener,
  };
  await run(found.get('pushes') ?? '', { ...reactNative, device, Notifications, __DEV__: true, console }, []);
  const { clientId } = device.status.getSnapshot();
  const client = () => fixture.tidemark.clients.find(clientId ?? '');
  await expect.poll(async () => (await client())?.device_push_type).toBe('apns_sandbox');

  const SecureStore = new SecureStoreStandIn();
  const { store } = await run(found.get('keychain') ?? '', { ...reactNative, ...system, SecureStore }, ['store']);
  expect(statements).toEqual([`PRAGMA key = "x'${SecureStore.items.get('tidemark.key')}'"`]);
  expect(await (store as { load(): Promise<unknown> }).load()).toEqual([]);
  await device.close();
});

it('[PHONE-51] what the guide and the README import from the package is there', async () => {
  const texts = [await read('../../../docs/sdk/react-native.md'), await read('../README.md')];
  const names = texts.flatMap((text) =>
    Array.from(text.matchAll(IMPORT), ({ groups }) => groups)
      .filter((groups) => groups?.from === '@tidemark/react-native')
      .flatMap((groups) => groups?.names?.split(', ') ?? []),
  );
  expect(names.length).toBeGreaterThan(3);
  expect(names.filter((name) => !(name in reactNative))).toEqual([]);
});
