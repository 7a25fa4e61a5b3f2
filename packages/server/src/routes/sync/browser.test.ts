import { readFile } from 'node:fs/promises';
import {
  Caller,
  makeUser,
  openWebPushStandIn,
  type Page,
  type PageOptions,
  type SdkApp,
  settableClock,
  startSdkApp,
  TEST_ONLY_CERTIFICATE,
  USER_PASSWORD,
  useBrowser,
} from '@tidemark/testing';
import { startTestServer, type TestServer, testConfig } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newVapidKeys } from '../../pings/notifiers/vapid.ts';
import { webPushNotifier } from '../../pings/notifiers/web-push-notifier.ts';

const PACKAGES = new URL('../../../../', import.meta.url);

const GUIDE = new URL('../docs/sdk/web-push.md', PACKAGES);
const WEB_APPS = new URL('../docs/sdk/web-app.md', PACKAGES);

/** A sample of a guide, by the name after its language. */
async function sample(name: string, guide = GUIDE): Promise<string> {
  const [, code] = new RegExp(`^\`\`\`js ${name}\\n(.*?)^\`\`\`$`, 'ms').exec(await readFile(guide, 'utf8')) ?? [];
  if (code === undefined) throw new Error(`there is no sample ${name}`);
  return code;
}

let app: SdkApp;
/** The same without a bundler. */
let unbundled: SdkApp;
let appUrl: string;
let server: TestServer;
let admin: Caller;
const browser = useBrowser();

beforeAll(async () => {
  app = await startSdkApp({
    scripts: { '/sw.js': () => sample('sw.js'), '/offline-sw.js': () => sample('offline-sw.js', WEB_APPS) },
  });
  unbundled = await startSdkApp({ isUnbundled: true });
  appUrl = app.url;
  const { devices } = testConfig('');
  server = await startTestServer({ devices: { ...devices, origins: [appUrl, unbundled.url] } });
  admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'user' });
});

afterAll(async () => {
  admin.close();
  await server.close();
  await unbundled.close();
  await app.close();
});

/** Opens a page of the app with its device as the global `device`. */
async function openApp({ live = true, url = appUrl, ...options }: PageOptions & { live?: boolean; url?: string } = {}) {
  const page = await browser.openPage(url, options);
  await openDevice(page, { live });
  return page;
}

const openDevice = (page: Page, options: { readonly live?: boolean } = {}) =>
  page.evaluate(`(async () => {
    const { openDevice } = await import('@tidemark/client');
    const { openIndexedDbStore } = await import('@tidemark/client/indexeddb-store');
    const store = await openIndexedDbStore();
    globalThis.device = await openDevice({ ...${JSON.stringify({ url: server.url, ...options })}, store });
  })()`);

const signIn = (page: Page, login: string) =>
  page.evaluate(`device.signIn(${JSON.stringify({ login, password: USER_PASSWORD })}).then(() => device.sync())`);

const held = (page: Page, id: string) => page.evaluate(`device.source('Order').get(${JSON.stringify(id)})?.attributes`);

/** Resolves in the page when the condition holds for the device. */
const until = (page: Page, condition: string) =>
  page.evaluate(`new Promise((resolve) => {
    const look = () => { if (${condition}) resolve(true); };
    device.source('Order').subscribe(look);
    device.status.subscribe(look);
    look();
  })`);

const kept = async (user: string, id: string) =>
  ((await admin.get(`/rc/v1/users/${user}/sources/Order/docs/md`)).body as Record<string, unknown>)[id];

it('[SDK-15] in a real browser a device signs in from another site, syncs, and receives a change as it happens', async () => {
  await makeUser(server, 'ada');
  await admin.post('/app/v1/Order/push_objects', { user_id: 'ada', objects: { o1: { total: 1, text: 'Übung 😀' } } });
  const page = await openApp({ url: unbundled.url });
  await signIn(page, 'ada');
  expect(await held(page, 'o1')).toEqual({ total: 1, text: 'Übung 😀' });
  await until(page, 'device.status.getSnapshot().isLive');
  await admin.post('/app/v1/Order/push_objects', { user_id: 'ada', objects: { o1: { total: 2 } } });
  await until(page, "device.source('Order').get('o1').attributes.total === 2");
});

it('[SDK-15] in a real browser offline changes survive the page, and are sent when the network is back', async () => {
  await makeUser(server, 'bob');
  await admin.post('/app/v1/Order/push_objects', { user_id: 'bob', objects: { o1: { total: 1 } } });
  // An acknowledgement may be on its way when the network goes.
  const page = await openApp({ expectedErrors: [/ERR_INTERNET_DISCONNECTED.*\/sync\/v1\/ack/] });
  await signIn(page, 'bob');
  await page.context().setOffline(true);
  await page.evaluate(`device.source('Order').update('o1', { total: 7 })`);
  await page.evaluate('device.close()');
  await page.context().setOffline(false);
  await page.reload();
  await openDevice(page);
  await until(page, "device.source('Order').get('o1').attributes.total === 7");
  await page.evaluate('device.sync()');
  expect(await kept('bob', 'o1')).toEqual({ total: 7 });
  expect(await page.evaluate('device.uploads.list().length')).toBe(0);
});

it('[SDK-40] in a real browser the first error tells an origin that is not listed from a server that is down', async () => {
  await makeUser(server, 'zoe');
  const unlisted = appUrl.replace('localhost', '127.0.0.1');
  // The browser connects to no server at this port.
  const nowhere = 'http://127.0.0.1:9';
  const expectedErrors = [/CORS policy/, /ERR_FAILED/, /ERR_UNSAFE_PORT/];
  const page = await browser.openPage(unlisted, { expectedErrors });
  const failure = (url: string) =>
    page.evaluate(`(async () => {
      const { openDevice } = await import('@tidemark/client');
      const device = await openDevice({ url: ${JSON.stringify(url)}, live: false });
      const error = await device.signIn({ login: 'zoe', password: 'x' }).catch((error) => error);
      await device.close();
      return [error.code, error.message];
    })()`);
  expect(await failure(server.url)).toEqual([
    'unreachable',
    `the server at ${server.url} is there, but does not list the origin of this page: add ${unlisted} to its setting devices.origins`,
  ]);
  expect(await failure(nowhere)).toEqual([
    'unreachable',
    `no answer from ${nowhere}: the server is down, or cannot be reached from here (Failed to fetch)`,
  ]);
});

it('[SDK-27] in a real browser a device whose network part could not be loaded says so, and has lost nothing when the page is loaded again', async () => {
  await makeUser(server, 'eva');
  await admin.post('/app/v1/Order/push_objects', { user_id: 'eva', objects: { o1: { total: 1 } } });
  const page = await openApp({ expectedErrors: [/ERR_FAILED.*\/engine\/network\.js/] });
  await signIn(page, 'eva');
  await page.evaluate('device.close()');
  await page.context().route(/\/engine\/network\.js/, (route) => route.abort());
  await page.reload();
  await openDevice(page);
  expect(await held(page, 'o1')).toEqual({ total: 1 });
  await page.evaluate(`device.source('Order').update('o1', { total: 2 })`);
  await until(page, "device.status.getSnapshot().error?.code === 'unreachable'");
  expect(await page.evaluate('device.status.getSnapshot().error.detail')).toMatch(/could not be loaded/);
  await page.context().unroute(/\/engine\/network\.js/);
  await page.reload();
  await openDevice(page);
  await until(page, 'device.status.getSnapshot().pendingUploads === 0');
  expect(await kept('eva', 'o1')).toEqual({ total: 2 });
});

it('[SDK-16] the service worker of the guide shows the message of a ping and makes an open page synchronise', async () => {
  await makeUser(server, 'pia');
  const page = await openApp({ live: false, permissions: ['notifications'] });
  await signIn(page, 'pia');
  await page.evaluate(`(async () => { ${await sample('page')} await navigator.serviceWorker.ready; })()`);
  await admin.post('/app/v1/Order/push_objects', { user_id: 'pia', objects: { o1: { total: 3 } } });
  await deliverPush(page, await webPushPayload());
  await until(page, "device.source('Order').get('o1') !== undefined");
  const shown = await page.evaluate(`new Promise((resolve) => {
    const look = async () => {
      const all = await (await navigator.serviceWorker.ready).getNotifications();
      if (all.length > 0) resolve(all.map(({ title, body }) => [title, body]));
      else setTimeout(look, 20);
    };
    void look();
  })`);
  expect(shown).toEqual([['My app', 'Grüße 💧']]);
});

it('[SDK-42] with the service worker of the guide an app starts without a network, with its data', async () => {
  await makeUser(server, 'ivy');
  await admin.post('/app/v1/Order/push_objects', { user_id: 'ivy', objects: { o1: { total: 5 } } });
  const page = await openApp({ live: false, expectedErrors: [/ERR_INTERNET_DISCONNECTED/, /ERR_FAILED/] });
  await page.evaluate(`navigator.serviceWorker.register('/offline-sw.js').then(() => navigator.serviceWorker.ready)`);
  // On the second visit all files pass the service worker.
  await page.reload();
  await openDevice(page, { live: false });
  await signIn(page, 'ivy');
  await page.evaluate('device.close()');
  await page.context().setOffline(true);
  await page.reload();
  await openDevice(page, { live: false });
  expect(await held(page, 'o1')).toEqual({ total: 5 });
});

it('[SDK-43] where the browser blocks storage, the sample of the guide opens a device in memory and says so', async () => {
  await makeUser(server, 'kim');
  await admin.post('/app/v1/Order/push_objects', { user_id: 'kim', objects: { o1: { total: 6 } } });
  const page = await browser.openPage(appUrl);
  const said = await page.evaluate(`(async () => {
    const blocked = () => { throw new DOMException('access is denied for this document', 'SecurityError'); };
    Object.defineProperty(globalThis, 'indexedDB', { get: blocked });
    const { openDevice } = await import('@tidemark/client');
    const { openIndexedDbStore } = await import('@tidemark/client/indexeddb-store');
    const url = ${JSON.stringify(server.url)};
    const said = [await openIndexedDbStore().catch(({ code, message }) => [code, message])];
    const show = (words) => said.push(words);
    ${await sample('blocked', WEB_APPS)}
    globalThis.device = device;
    return said;
  })()`);
  expect(said).toEqual([
    ['store_failed', expect.stringContaining('access is denied for this document')],
    expect.stringContaining('Your browser blocks storage'),
  ]);
  await signIn(page, 'kim');
  expect(await held(page, 'o1')).toEqual({ total: 6 });
});

/** Delivers a push to the service worker of the page, as the browser does after decryption. */
async function deliverPush(page: Page, data: string): Promise<void> {
  const devTools = await page.context().newCDPSession(page);
  const updated = new Promise<string | undefined>((resolve) => {
    devTools.once('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      resolve(registrations[0]?.registrationId);
    });
  });
  await devTools.send('ServiceWorker.enable');
  const registrationId = await updated;
  if (registrationId === undefined) throw new Error('the page has no service worker');
  await devTools.send('ServiceWorker.deliverPushMessage', { origin: appUrl, registrationId, data });
}

/** The decrypted payload of a ping, decrypted by the fake push service with the keys of the browser. */
async function webPushPayload(): Promise<string> {
  const keys = newVapidKeys();
  const clock = settableClock();
  const service = await openWebPushStandIn({ publicKey: keys.publicKey, nowMs: clock.nowMs });
  const notifier = webPushNotifier({
    keys,
    subject: 'mailto:ops@example.com',
    hosts: ['localhost'],
    addressRules: { denyPrivate: false },
    ttlS: 3_600,
    clock,
    jitter: () => 1,
    ca: [TEST_ONLY_CERTIFICATE],
  });
  const target = { client: 'c1', deviceType: 'web', pushType: 'webpush', devicePort: null, appId: null } as const;
  const ping = { id: 'p1', sources: ['Order'], message: 'Grüße 💧' };
  const outcome = await notifier.notify({ ...target, devicePin: service.subscribe() }, ping);
  notifier.close();
  await service.close();
  if (outcome.status !== 'accepted') throw new Error(`the ping was ${outcome.status}`);
  return service.taken[0]?.payload ?? '';
}
