import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
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
/** Pictures of the documentation, which `--docs` writes: screen → file in docs/images. */
const DOCS_PICTURES = { overview: 'console-overview', explain: 'console', data: 'console-data' };
const WEBP_QUALITY = 0.85;
const THINGS = ['Compass', 'Sea chart', 'Barometer', 'Signal lamp', 'Anchor chain', 'Life jacket', 'Sextant', 'Winch'];
const MAKES = ['brass', 'steel', 'folding', 'spare', 'light', 'heavy'];
const PRODUCTS = Array.from({ length: 240 }, (_, id) => [
  `p${id}`,
  {
    name: `${THINGS[id % THINGS.length]}, ${MAKES[id % MAKES.length]}`,
    price: Math.round(900 + ((id * 7_919) % 24_000)) / 100,
    stock: (id * 37) % 120,
    depot: id % 3 === 0 ? 'north' : 'south',
  },
]);
const ORDERS = (user) =>
  Array.from({ length: 12 + user * 5 }, (_, id) => [
    `${2_600 + user * 100 + id}`,
    { product: `p${(id * 13) % 240}`, quantity: 1 + (id % 4), status: id % 3 === 0 ? 'delivered' : 'open' },
  ]);
const EXECUTABLE = process.env.TIDEMARK_CHROMIUM ?? '/usr/bin/chromium';

const isForDocs = process.argv.includes('--docs');

await setup();
const { chromium } = await import('playwright-core');
const { ADMIN_PASSWORD, startTestServer } = await import('../packages/testing/dist/server.js');
rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
const empty = await startTestServer();
const filled = await startTestServer();
const browser = await chromium.launch({ executablePath: EXECUTABLE, chromiumSandbox: process.getuid?.() !== 0 });
try {
  const shown = await fill(filled);
  for (const [look, options] of Object.entries(LOOKS)) await takeAll(look, options, shown);
  process.stdout.write(`The pictures are in ${FOLDER}\n`);
} finally {
  await browser.close();
  await Promise.all([empty.close(), filled.close()]);
}

/** Takes a picture of every screen. */
async function takeAll(look, options, { device, ping }) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const take = async (name) => {
    // The stream of the activity keeps the network busy, so it waits until no placeholder is left.
    await page.waitForFunction(() => document.querySelector('[aria-label="Loading"]') === null);
    await page.waitForTimeout(SETTLE_MS);
    await page.screenshot({ path: join(FOLDER, `${name}-${look}.png`), animations: 'disabled', fullPage: true });
    if (isForDocs && look === 'light' && name in DOCS_PICTURES) await takeForDocs(page, DOCS_PICTURES[name]);
  };
  await page.goto(`${filled.url}/console/`);
  await take('sign-in');
  await signIn(page);
  const screens = {
    overview: '',
    sources: 'sources',
    source: 'sources/Product',
    data: 'data?source=Product',
    'data-of-user': 'data?source=Order&user=ada',
    users: 'users',
    user: 'users/ada',
    groups: 'groups',
    group: 'groups/north',
    device: `devices/${device}`,
    explain: `devices/${device}?source=Product&object=p3`,
    pings: 'pings',
    ping: `pings/${ping}`,
    jobs: 'jobs',
    backend: 'backend',
    activity: 'activity',
    stats: 'stats',
    tokens: 'tokens',
    audit: 'audit',
    system: 'system',
    api: 'api',
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
  await page.goto(`${filled.url}/console/users/ada`);
  await page.getByRole('button', { name: 'Invite a device' }).click();
  await page.getByRole('button', { name: 'Make invite' }).click();
  await page.getByRole('img', { name: 'QR code of the invite' }).waitFor();
  await take('invite');
  await page.goto(`${empty.url}/console/`);
  await signIn(page);
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
  await take('first-steps');
  await page.goto(`${empty.url}/console/sources`);
  await page.getByRole('heading', { name: 'No sources yet' }).waitFor();
  await take('sources-empty');
  await context.close();
}

/** Writes what the window shows as a picture of the documentation. The browser compresses it. */
async function takeForDocs(page, file) {
  const picture = await page.screenshot({ animations: 'disabled' });
  const blank = await browser.newPage();
  const webp = await blank.evaluate(
    async ([png, quality]) => {
      const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
      canvas.getContext('2d').drawImage(bitmap, 0, 0);
      const blob = await canvas.convertToBlob({ type: 'image/webp', quality });
      return [...new Uint8Array(await blob.arrayBuffer())];
    },
    [picture.toString('base64'), WEBP_QUALITY],
  );
  await blank.close();
  writeFileSync(join(ROOT, 'docs/images', `${file}.webp`), Buffer.from(webp));
}

async function signIn(page) {
  await page.getByLabel('Password').fill(ADMIN_PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

/** Fills a server with data to look at. Returns the id of a device and of a ping. */
async function fill({ url, token }) {
  const call = async (path, body, bearer = token, method = 'POST') => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${bearer}` };
    const response = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return response.json();
  };
  await call('/rc/v1/sources', { name: 'Product', partition_type: 'app', read_only: true });
  await call('/rc/v1/sources', { name: 'Order', partition_type: 'user', push_notify: true });
  await call('/rc/v1/sources', { name: 'Depot', partition_type: 'group', conflicts: 'detect' });
  await call('/app/v1/Product/push_objects', { objects: Object.fromEntries(PRODUCTS) });
  const sessions = [];
  for (const [index, login] of ['ada', 'bob', 'carl', 'dora', 'emil'].entries()) {
    const password = 'sea-urchin-4410';
    await call('/rc/v1/users', { attributes: { login, password, team: index % 2 === 0 ? 'north' : 'south' } });
    await call(
      `/rc/v1/users/${login}/groups`,
      { groups: index % 2 === 0 ? ['north'] : ['south', 'harbour'] },
      token,
      'PUT',
    );
    await call('/app/v1/Order/push_objects', { user_id: login, objects: Object.fromEntries(ORDERS(index)) });
    sessions.push(await enrol(call, { login, password }));
  }
  await call('/app/v1/Depot/push_objects', { group: 'north', objects: { d1: { name: 'North quay', stock: 412 } } });
  for (const { pull } of sessions) await pull();
  // All but the first device get the correction.
  await call('/app/v1/Product/push_objects', { objects: { p3: { price: 19.9, stock: 0 } } });
  for (const { pull } of sessions.slice(1)) await pull();
  const [{ client_id }] = sessions;
  const { ping_id } = await call('/rc/v1/users/ping', { user_id: ['ada', 'bob'], message: 'New orders for today' });
  await call('/rc/v1/tokens', { name: 'backend', scopes: ['push'] });
  await call('/rc/v1/jobs/uploads/pause', {});
  return { device: client_id, ping: ping_id };
}

/** Signs a device in. Its pulls present the tokens of the answers before. */
async function enrol(call, { login, password }) {
  const { token } = await call('/sync/v1/login', { login, password });
  const kind = { device_type: 'android', device_app_id: 'org.example.field', device_app_version: '2.4.0' };
  const { client_id } = await call('/sync/v1/clients', kind, token);
  let sources = { Product: {}, Order: {} };
  const pull = async () => {
    for (let page = 0; page < 2; page++) {
      const answer = await call('/sync/v1/pull', { client_id, sources }, token);
      const tokens = Object.entries(answer.sources).map(([name, { token: next }]) => [name, { token: next }]);
      sources = { ...sources, ...Object.fromEntries(tokens) };
    }
  };
  return { client_id, pull };
}
