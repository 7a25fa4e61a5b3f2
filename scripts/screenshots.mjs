import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './processes.mjs';
import { setup } from './setup.mjs';

const FOLDER = join(ROOT, 'screenshots');
const LOOKS = {
  light: { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  narrow: { colorScheme: 'light', viewport: { width: 390, height: 844 } },
};
const SETTLE_MS = 600;
const EXECUTABLE = process.env.TIDEMARK_CHROMIUM ?? '/usr/bin/chromium';

await setup();
const { chromium } = await import('playwright-core');
const { ADMIN_PASSWORD, startTestServer } = await import('../packages/testing/dist/server.js');
rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
const empty = await startTestServer();
const filled = await startTestServer();
const browser = await chromium.launch({ executablePath: EXECUTABLE, chromiumSandbox: process.getuid?.() !== 0 });
try {
  const device = await fill(filled);
  for (const [look, options] of Object.entries(LOOKS)) await takeAll(look, options, device);
  process.stdout.write(`The pictures are in ${FOLDER}\n`);
} finally {
  await browser.close();
  await Promise.all([empty.close(), filled.close()]);
}

/** Takes a picture of every screen. */
async function takeAll(look, options, device) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const take = async (name) => {
    // The stream of the activity keeps the network busy, so it waits until no placeholder is left.
    await page.waitForFunction(() => document.querySelector('[aria-label="Loading"]') === null);
    await page.waitForTimeout(SETTLE_MS);
    await page.screenshot({ path: join(FOLDER, `${name}-${look}.png`), animations: 'disabled', fullPage: true });
  };
  await page.goto(`${filled.url}/console/`);
  await take('sign-in');
  await signIn(page);
  const screens = {
    overview: '',
    sources: 'sources',
    source: 'sources/Product',
    users: 'users',
    user: 'users/ada',
    device: `devices/${device}`,
    explain: `devices/${device}?source=Product&object=p1`,
    pings: 'pings',
    jobs: 'jobs',
    activity: 'activity',
    tokens: 'tokens',
    audit: 'audit',
    system: 'system',
  };
  for (const [name, path] of Object.entries(screens)) {
    await page.goto(`${filled.url}/console/${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await take(name);
  }
  await page.goto(`${filled.url}/console/sources`);
  await page.getByRole('button', { name: 'New source' }).click();
  await page.getByLabel('Name').fill('Order');
  await page.getByRole('button', { name: 'Show as curl' }).click();
  await take('new-source');
  await page.goto(`${filled.url}/console/users/ada`);
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByLabel(/to confirm/).fill('ad');
  await take('delete-user');
  await page.goto(`${empty.url}/console/sources`);
  await signIn(page);
  await page.getByRole('heading', { name: 'No sources yet' }).waitFor();
  await take('sources-empty');
  await context.close();
}

async function signIn(page) {
  await page.getByLabel('Password').fill(ADMIN_PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

/** Fills a server with data to look at. Returns the id of a device. */
async function fill({ url, token }) {
  const post = async (path, body, bearer = token) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${bearer}` };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (response.status !== 200) throw new Error(`${path}: ${await response.text()}`);
    return response.json();
  };
  await post('/rc/v1/sources', { name: 'Product', partition_type: 'app', read_only: true });
  await post('/rc/v1/sources', { name: 'Order', partition_type: 'user', push_notify: true });
  await post('/rc/v1/sources', { name: 'Customer', partition_type: 'user', conflicts: 'detect' });
  for (const login of ['ada', 'bob', 'carl', 'dora', 'emil']) {
    await post('/rc/v1/users', { attributes: { login, password: 'sea-urchin-4410', team: 'north' } });
  }
  const objects = Object.fromEntries(Array.from({ length: 240 }, (_, id) => [`p${id}`, { name: `Product ${id}` }]));
  await post('/app/v1/Product/push_objects', { objects });
  const session = await post('/sync/v1/login', { login: 'ada', password: 'sea-urchin-4410' });
  const registered = await post(
    '/sync/v1/clients',
    { device_type: 'android', device_app_id: 'org.example.field', device_app_version: '2.4.0' },
    session.token,
  );
  const { client_id } = registered;
  const pull = (sources) => post('/sync/v1/pull', { client_id, sources }, session.token);
  const { sources } = await pull({ Product: {}, Order: {} });
  await pull({ Product: { token: sources.Product.token }, Order: { token: sources.Order.token } });
  await post('/app/v1/Product/push_objects', { objects: { p1: { name: 'A better product' } } });
  await post('/rc/v1/tokens', { name: 'backend', scopes: ['push'] });
  await post('/rc/v1/jobs/uploads/pause', {});
  return client_id;
}
