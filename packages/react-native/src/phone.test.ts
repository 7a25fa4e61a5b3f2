import { ClientError, type Device, type DeviceAttributes, type DeviceStatus, openDevice } from '@tidemark/client';
import { newDeviceFixture } from '@tidemark/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import {
  type AppStateLike,
  type ExpoNetworkState,
  expoNetwork,
  expoPushes,
  expoSecureItems,
  firebasePushes,
  followAppState,
  netInfo,
  type PushAddress,
  type PushAddresses,
  phonePlatform,
  registerForPushes,
  syncInBackground,
} from './index.ts';

const tick = () => new Promise((resolve) => setImmediate(resolve));

it('[PHONE-10] the state of the network comes from NetInfo, and only changes are told', () => {
  let tell: Parameters<Parameters<typeof netInfo>[0]['addEventListener']>[0] = () => undefined;
  const hints = netInfo({
    addEventListener: (listener) => {
      tell = listener;
      return () => undefined;
    },
  });
  const seen: unknown[] = [];
  const state = () => [hints.isOnline(), hints.isMetered?.()];
  const end = hints.onChange(() => seen.push(state()));
  // Nothing is known yet: the device tries.
  expect(state()).toEqual([true, false]);
  tell({ type: 'unknown', isConnected: null });
  tell({ type: 'none', isConnected: false, details: null });
  tell({ type: 'none', isConnected: false, details: null });
  tell({ type: 'cellular', isConnected: true });
  tell({ type: 'wifi', isConnected: true, details: { isConnectionExpensive: true } });
  tell({ type: 'wifi', isConnected: true, details: { isConnectionExpensive: false } });
  expect(seen).toEqual([
    [false, false],
    [true, true],
    [true, false],
  ]);
  end();
  tell({ type: 'none', isConnected: false });
  expect([seen.length, state()]).toEqual([3, [false, false]]);
  // A function that listens twice stays when one of the two ends.
  let calls = 0;
  const listener = () => calls++;
  hints.onChange(listener);
  hints.onChange(listener)();
  tell({ type: 'wifi', isConnected: true });
  expect(calls).toBe(1);
});

it('[PHONE-10] the state of the network comes from expo-network, whose first answer does not replace a newer state', async () => {
  let tell: (state: ExpoNetworkState) => void = () => undefined;
  let answer: (state: ExpoNetworkState) => void = () => undefined;
  const library = {
    getNetworkStateAsync: () => new Promise<ExpoNetworkState>((resolve) => (answer = resolve)),
    addNetworkStateListener: (listener: (state: ExpoNetworkState) => void) => {
      tell = listener;
      return { remove: () => undefined };
    },
  };
  const hints = expoNetwork(library);
  answer({ type: 'CELLULAR', isConnected: true });
  await tick();
  expect([hints.isOnline(), hints.isMetered?.()]).toEqual([true, true]);
  tell({ type: 'NONE', isConnected: false });
  expect(hints.isOnline()).toBe(false);

  const later = expoNetwork(library);
  tell({ type: 'NONE', isConnected: false });
  answer({ type: 'WIFI', isConnected: true });
  await tick();
  expect(later.isOnline()).toBe(false);
  // What the library says where it could not find out.
  tell({ type: 'UNKNOWN', isConnected: false });
  expect([later.isOnline(), later.isMetered?.()]).toEqual([true, false]);
  const failing = expoNetwork({ ...library, getNetworkStateAsync: () => Promise.reject(new Error('no module')) });
  await tick();
  expect(failing.isOnline()).toBe(true);
});

it('[PHONE-11] the platform of a phone has what is given, and no tabs', async () => {
  const hash = { update: () => undefined, hex: () => '' };
  const given = { randomBytes: (count: number) => new Uint8Array(count), sha256: () => hash };
  const fetched: string[] = [];
  const fetch = async (url: string) => {
    fetched.push(url);
    return new Response('{}');
  };
  const platform = phonePlatform({ ...given, fetch });
  expect(platform).toMatchObject({ ...given, tabs: null, network: null });
  await platform.fetch?.('http://tidemark.test', {});
  expect(fetched).toEqual(['http://tidemark.test']);
  expect(Object.keys(phonePlatform()).sort()).toEqual(['fetch', 'network', 'tabs']);
});

it('[PHONE-11] without XMLHttpRequest the fetch of the platform is used', async () => {
  const asked = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response('plain'));
  onTestFinished(() => asked.mockRestore());
  const headers = { accept: 'text/event-stream' };
  const answer = await phonePlatform().fetch?.('http://tidemark.test', { headers });
  expect(await answer?.text()).toBe('plain');
});

it('[PHONE-20] a device syncs when the app comes to the front, and only then', async () => {
  const listeners = new Set<(state: string) => void>();
  const appState: AppStateLike = {
    currentState: 'active',
    addEventListener: (_, listener) => {
      listeners.add(listener);
      return { remove: () => listeners.delete(listener) };
    },
  };
  const change = (state: string) => {
    for (const listener of listeners) listener(state);
  };
  let syncs = 0;
  const device = {
    sync: async () => {
      syncs++;
      throw new ClientError('offline', 'no network');
    },
  };
  const end = followAppState(device, appState);
  const counts = ['active', 'inactive', 'background', 'active', 'active', 'background', 'inactive', 'active'].map(
    (state) => {
      change(state);
      return syncs;
    },
  );
  await tick();
  expect(counts).toEqual([0, 0, 0, 1, 1, 1, 1, 2]);
  end();
  expect(listeners.size).toBe(0);
});

it('[PHONE-21] a sync in the background says how it ended, and leaves the device open', async () => {
  const fixture = await newDeviceFixture();
  const device = await fixture.open();
  const later = { maxMs: 60_000 };
  await fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { 1: { total: 1 } } });
  expect(await fixture.finish(syncInBackground(Promise.resolve(device), later))).toBe('synced');
  expect(device.source('Order').get('1')?.attributes).toEqual({ total: 1 });
  fixture.intercept = async () => {
    throw new TypeError('no network');
  };
  expect(await fixture.finish(syncInBackground(device, later))).toBe('failed');
  fixture.intercept = () => undefined;
  const unopened = Promise.reject(new Error('the database is locked'));
  expect(await syncInBackground(unopened, later)).toBe('failed');
  await fixture.finish(device.signOut());
  expect(await syncInBackground(device, later)).toBe('signed_out');
  await device.close();
});

it('[PHONE-21] a sync in the background ends when its time is up, also while the device is being opened', async () => {
  const fixture = await newDeviceFixture();
  const device = await fixture.open();
  let asked: AbortSignal | undefined;
  const hanging = Object.assign(Object.create(device), {
    sync: ({ signal }: { readonly signal: AbortSignal }) => {
      asked = signal;
      return new Promise(() => undefined);
    },
  });
  expect(await syncInBackground(hanging, { maxMs: 1 })).toBe('out_of_time');
  expect(asked?.aborted).toBe(true);
  expect(await syncInBackground(new Promise(() => undefined), { maxMs: 1 })).toBe('out_of_time');
  await device.close();
});

it('[PHONE-21] a sync in the background leaves no timer behind', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const device = { sync: async () => undefined } as unknown as Device;
  expect(await syncInBackground(device, { maxMs: 60_000 })).toBe('synced');
  expect(vi.getTimerCount()).toBe(0);
});

it('[PHONE-21] a sync in the background without a valid session ends as signed out, and any other refusal as failed', async () => {
  const codes = ['sign_in_required', 'signed_out', 'offline', 'closed'];
  const ends = codes.map((code) => {
    const device = { sync: () => Promise.reject(new ClientError(code, code)) } as unknown as Device;
    return syncInBackground(device, { maxMs: 60_000 });
  });
  expect(await Promise.all(ends)).toEqual(['signed_out', 'signed_out', 'failed', 'failed']);
});

it('[PHONE-21] a sync in the background during which the user signs out ends as signed out, for every call that waits', async () => {
  const fixture = await newDeviceFixture();
  await fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: {} });
  const device = await fixture.open();
  await fixture.finish(device.sync());
  let isHeld = false;
  fixture.intercept = ({ path }, _, { signal }) => {
    if (!path.endsWith('/pull')) return undefined;
    isHeld = true;
    return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
  };
  const syncs = [syncInBackground(device, { maxMs: 60_000 }), syncInBackground(device, { maxMs: 60_000 })];
  await expect.poll(() => isHeld).toBe(true);
  await device.signOut();
  expect(await Promise.all(syncs)).toEqual(['signed_out', 'signed_out']);
  await device.close();
});

it('[PHONE-30] the address is that of Apple or Google, with the sandbox if the app says so, and none without permission', async () => {
  const listeners: ((token: { readonly type: string; readonly data: unknown }) => void)[] = [];
  let granted = true;
  const library = (type: string, data: unknown) => ({
    getPermissionsAsync: async () => ({ granted }),
    getDevicePushTokenAsync: async () => ({ type, data }),
    addPushTokenListener: (listener: (typeof listeners)[number]) => {
      listeners.push(listener);
      return { remove: () => void listeners.pop() };
    },
  });
  expect(await expoPushes(library('ios', 'ab12')).current()).toEqual({ device_type: 'ios', device_pin: 'ab12' });
  const sandbox = { device_type: 'ios', device_push_type: 'apns_sandbox', device_pin: 'ab12' };
  expect(await expoPushes(library('ios', 'ab12'), { isSandbox: true }).current()).toEqual(sandbox);
  const android = expoPushes(library('android', 'token'), { isSandbox: true });
  expect(await android.current()).toEqual({ device_type: 'android', device_pin: 'token' });
  expect(await expoPushes(library('web', { endpoint: 'https://push.test' })).current()).toBeNull();
  const heard: PushAddress[] = [];
  const end = android.onChange((address) => heard.push(address));
  for (const data of ['renewed', null]) listeners[0]?.({ type: 'android', data });
  expect(heard).toEqual([{ device_type: 'android', device_pin: 'renewed' }]);
  end();
  expect(listeners).toEqual([]);
  granted = false;
  expect(await android.current()).toBeNull();
  const found = [0, 1, 2, 3, 4].map(async (status) => {
    const getPermissionsAsync = async () => ({ granted: status === 2, ios: { status } });
    return (await expoPushes({ ...library('ios', 'ab12'), getPermissionsAsync }).current())?.device_pin ?? null;
  });
  expect(await Promise.all(found)).toEqual([null, null, 'ab12', 'ab12', 'ab12']);
});

it('[PHONE-30] the address of Firebase is its own on both systems', async () => {
  let refresh: (token: string) => void = () => undefined;
  const messaging = (token: string) => ({
    getToken: async () => token,
    onTokenRefresh: (listener: (token: string) => void) => {
      refresh = listener;
      return () => undefined;
    },
  });
  const ios = { device_type: 'ios', device_push_type: 'fcm', device_pin: 'token' };
  expect(await firebasePushes(messaging('token'), 'ios').current()).toEqual(ios);
  expect(await firebasePushes(messaging(''), 'ios').current()).toBeNull();
  const android = firebasePushes(messaging('token'), 'android');
  expect(await android.current()).toEqual({ device_type: 'android', device_pin: 'token' });
  const heard: PushAddress[] = [];
  android.onChange((address) => heard.push(address));
  refresh('renewed');
  expect(heard).toEqual([{ device_type: 'android', device_pin: 'renewed' }]);
});

it('[PHONE-31] the server knows the address after every sign-in and every change, and not after the end', async () => {
  const fixture = await newDeviceFixture();
  await fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: {} });
  const device = await openDevice({ url: 'http://tidemark.test', platform: fixture.platform, live: false });
  let change: (address: PushAddress) => void = () => undefined;
  const addresses: PushAddresses = {
    current: async () => ({ device_type: 'android', device_pin: 'first' }),
    onChange: (listener) => {
      change = listener;
      return () => (change = () => undefined);
    },
  };
  const end = registerForPushes(device, addresses);
  await tick();
  await fixture.finish(device.signIn({ login: 'ada', password: 'long enough' }));
  const pin = async () => {
    await fixture.platform.advance(5_000);
    const { clientId } = device.status.getSnapshot();
    return (await fixture.tidemark.clients.find(clientId ?? ''))?.device_pin;
  };
  expect(await pin()).toBe('first');
  change({ device_type: 'android', device_pin: 'second' });
  expect(await pin()).toBe('second');
  await fixture.finish(device.signOut());
  await fixture.finish(device.signIn({ login: 'bob', password: 'long enough' }));
  expect(await pin()).toBe('second');
  const last = change;
  end();
  last({ device_type: 'android', device_pin: 'third' });
  change({ device_type: 'android', device_pin: 'third' });
  expect(await pin()).toBe('second');
  await device.close();
});

/** A device whose status and answers the test sets. */
function fakeDevice() {
  const listeners = new Set<() => void>();
  const device = {
    calls: [] as DeviceAttributes[],
    answer: async (): Promise<void> => undefined,
    state: { mode: 'idle', userId: 'ada', clientId: 'c1', isOnline: true, lastSyncedAtMs: 1 } as DeviceStatus,
    set(change: Partial<DeviceStatus>) {
      device.state = { ...device.state, ...change };
      for (const listener of listeners) listener();
    },
    status: {
      getSnapshot: () => device.state,
      subscribe: (listener: () => void) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
    describe: (attributes: DeviceAttributes) => {
      device.calls.push(attributes);
      return device.answer();
    },
  };
  return device;
}

const onePush = (current: () => Promise<PushAddress | null>): PushAddresses => ({
  current,
  onChange: () => () => undefined,
});

it('[PHONE-31] an address is not sent without a user or a network, and is sent again after the next sync if that failed', async () => {
  const device = fakeDevice();
  device.set({ mode: 'signed_out', userId: null });
  const end = registerForPushes(
    device,
    onePush(async () => ({ device_type: 'ios', device_pin: 'ab12' })),
  );
  await tick();
  device.set({ mode: 'offline', userId: 'ada', isOnline: false });
  device.set({ mode: 'needs_sign_in', isOnline: true });
  expect(device.calls).toEqual([]);
  device.answer = () => Promise.reject(new ClientError('unreachable', 'no answer'));
  device.set({ mode: 'idle' });
  await tick();
  device.set({ mode: 'pulling' });
  await tick();
  expect(device.calls).toEqual([{ device_type: 'ios', device_push_type: null, device_pin: 'ab12' }]);
  device.answer = async () => undefined;
  device.set({ mode: 'idle', lastSyncedAtMs: 2 });
  await tick();
  device.set({ lastSyncedAtMs: 3 });
  await tick();
  expect(device.calls).toHaveLength(2);
  end();
  device.set({ userId: 'bob' });
  expect(device.calls).toHaveLength(2);
});

it('[PHONE-31] an address that the server refuses, or the system does not give, is told once', async () => {
  const device = fakeDevice();
  const refused: unknown[] = [];
  const onRefused = (error: unknown) => refused.push(error);
  const refusal = new ClientError('invalid_request', 'device_pin must be a device token of APNs', { status: 400 });
  device.answer = () => Promise.reject(refusal);
  registerForPushes(
    device,
    onePush(async () => ({ device_type: 'ios', device_pin: 'x' })),
    { onRefused },
  );
  await tick();
  device.set({ lastSyncedAtMs: 2 });
  await tick();
  expect([refused, device.calls.length]).toEqual([[refusal], 1]);
  const missing = new Error('no valid aps-environment entitlement');
  registerForPushes(
    device,
    onePush(() => Promise.reject(missing)),
    { onRefused },
  );
  await tick();
  expect(refused).toEqual([refusal, missing]);
  registerForPushes(
    device,
    onePush(async () => null),
    { onRefused },
  );
  await tick();
  expect([refused.length, device.calls.length]).toEqual([2, 1]);
});

it('[PHONE-31] an address that the system does not give at first is asked for again after each sync, until it gives one', async () => {
  const device = fakeDevice();
  const answers = [
    () => Promise.reject(new Error('SERVICE_NOT_AVAILABLE')),
    () => Promise.reject(new Error('SERVICE_NOT_AVAILABLE')),
    // Not allowed yet.
    async () => null,
    async (): Promise<PushAddress> => ({ device_type: 'android', device_pin: 'token' }),
  ];
  let asked = 0;
  const refused: unknown[] = [];
  const end = registerForPushes(
    device,
    onePush(() => answers[asked++]?.() ?? Promise.reject(new Error('asked too often'))),
    { onRefused: (error) => refused.push(error) },
  );
  const counts: number[] = [];
  for (const lastSyncedAtMs of [1, 1, 2, 3, 3, 4, 5, 6]) {
    device.set({ lastSyncedAtMs });
    await tick();
    counts.push(asked);
  }
  expect([counts, refused.length]).toEqual([[1, 1, 2, 3, 3, 4, 4, 4], 1]);
  expect(device.calls).toEqual([{ device_type: 'android', device_push_type: null, device_pin: 'token' }]);
  end();
});

it('[PHONE-31] an address is sent again when the same user signs in again, also if the session ended during the call', async () => {
  const device = fakeDevice();
  const end = registerForPushes(
    device,
    onePush(async () => ({ device_type: 'ios', device_pin: 'ab12' })),
  );
  await tick();
  expect(device.calls).toHaveLength(1);
  device.set({ mode: 'needs_sign_in' });
  let answer: () => void = () => undefined;
  device.answer = () => new Promise((resolve) => (answer = resolve));
  device.set({ mode: 'idle' });
  expect(device.calls).toHaveLength(2);
  device.set({ mode: 'needs_sign_in' });
  answer();
  await tick();
  device.set({ mode: 'idle' });
  expect(device.calls).toHaveLength(3);
  answer();
  await tick();
  device.set({ lastSyncedAtMs: 2 });
  expect(device.calls).toHaveLength(3);
  end();
});

it('[PHONE-31] an address is sent again after the next sync if the server has too much to do', async () => {
  const device = fakeDevice();
  const refused: unknown[] = [];
  device.answer = () => Promise.reject(new ClientError('rate_limited', 'later', { status: 429 }));
  const end = registerForPushes(
    device,
    onePush(async () => ({ device_type: 'ios', device_pin: 'ab12' })),
    { onRefused: (error) => refused.push(error) },
  );
  await tick();
  device.set({ lastSyncedAtMs: 2 });
  await tick();
  expect([device.calls.length, refused]).toEqual([2, []]);
  end();
});

it('[PHONE-31] an address that the system tells by itself replaces the one that was asked for', async () => {
  const device = fakeDevice();
  let answer: (address: PushAddress) => void = () => undefined;
  let change: (address: PushAddress) => void = () => undefined;
  const end = registerForPushes(device, {
    current: () => new Promise((resolve) => (answer = resolve)),
    onChange: (listener) => {
      change = listener;
      return () => undefined;
    },
  });
  device.answer = () => Promise.reject(new ClientError('unreachable', 'no answer'));
  change({ device_type: 'ios', device_pin: 'new' });
  answer({ device_type: 'ios', device_pin: 'old' });
  await tick();
  expect(device.calls.map(({ device_pin }) => device_pin)).toEqual(['new']);
  // Sent at once, although the call before it failed.
  change({ device_type: 'ios', device_pin: 'newer' });
  expect(device.calls.map(({ device_pin }) => device_pin)).toEqual(['new', 'newer']);
  end();
});

it('[PHONE-32] items of expo-secure-store are read and written with the options of the app', async () => {
  const calls: unknown[] = [];
  const items = expoSecureItems(
    {
      getItemAsync: async (...args) => {
        calls.push(['get', ...args]);
        return 'value';
      },
      setItemAsync: async (...args) => void calls.push(['set', ...args]),
      deleteItemAsync: async (...args) => void calls.push(['delete', ...args]),
    },
    { keychainAccessible: 1 },
  );
  expect(await items.get('a')).toBe('value');
  await items.set('a', 'b');
  await items.delete('a');
  const options = { keychainAccessible: 1 };
  expect(calls).toEqual([
    ['get', 'a', options],
    ['set', 'a', 'b', options],
    ['delete', 'a', options],
  ]);
});
