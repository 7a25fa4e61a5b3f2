import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './processes.mjs';
import { takeDemo } from './screenshots/demo.mjs';
import { fillServer } from './screenshots/sample-data.mjs';
import { toWebp } from './screenshots/webp.mjs';
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
const EXECUTABLE = process.env.TIDEMARK_CHROMIUM ?? '/usr/bin/chromium';

const isForDocs = process.argv.includes('--docs');
const isDemoOnly = process.argv.includes('--demo');

await setup();
const { chromium } = await import('playwright-core');
const { ADMIN_PASSWORD, startTestServer } = await import('../packages/testing/dist/server.js');
const browser = await chromium.launch({ executablePath: EXECUTABLE, chromiumSandbox: process.getuid?.() !== 0 });
try {
  if (!isDemoOnly) await takeConsole();
  if (isDemoOnly || isForDocs) {
    const file = join(ROOT, 'docs/images/demo.webp');
    writeFileSync(file, await toWebp(browser, await takeDemo(browser)));
    process.stdout.write(`The picture of the demo is ${file}\n`);
  }
} finally {
  await browser.close();
}

/** Takes pictures of the console with sample data, and of its first screens without any. */
async function takeConsole() {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const empty = await startTestServer();
  const filled = await startTestServer();
  const sample = await fillServer(filled);
  try {
    for (const [look, options] of Object.entries(LOOKS)) await takeAll(look, options, { empty, filled, ...sample });
    process.stdout.write(`The pictures are in ${FOLDER}\n`);
  } finally {
    await Promise.all([empty.close(), filled.close(), sample.close()]);
  }
}

/** Takes a picture of every screen. */
async function takeAll(look, options, { empty, filled, ...sample }) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const take = async (name, fullPage = true) => {
    // The stream of the activity keeps the network busy, so it waits until no placeholder is left.
    await page.waitForFunction(() => document.querySelector('[aria-label="Loading"]') === null);
    await page.waitForTimeout(SETTLE_MS);
    await page.screenshot({ path: join(FOLDER, `${name}-${look}.png`), animations: 'disabled', fullPage });
    if (isForDocs && look === 'light' && name in DOCS_PICTURES) await takeForDocs(page, DOCS_PICTURES[name]);
  };
  await page.goto(`${filled.url}/console/`);
  await take('sign-in');
  await signIn(page);
  for (const [name, path] of Object.entries(screensOf(sample))) {
    await page.goto(`${filled.url}/console/${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await take(name);
  }
  await takeActivity(page, filled.url, { take, ...sample });
  // A dialog covers the window, not the whole page.
  await takeDialogs(page, filled.url, (name) => take(name, false));
  await page.goto(`${empty.url}/console/`);
  await signIn(page);
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
  await take('first-steps');
  await page.goto(`${empty.url}/console/sources`);
  await page.getByRole('heading', { name: 'No sources yet' }).waitFor();
  await take('sources-empty');
  await context.close();
}

/** Names of pictures with the addresses of their screens. */
function screensOf({ device, ping, deadQueue }) {
  return {
    overview: '',
    sources: 'sources',
    source: 'sources/Product',
    'source-refreshed': 'sources/Price',
    'source-failing': 'sources/Weather',
    data: 'data?source=Product',
    'data-of-user': 'data?source=Order&user=ada',
    'data-documents': 'data?source=Product&of=server',
    users: 'users',
    user: 'users/ada',
    groups: 'groups',
    group: 'groups/north',
    devices: 'devices',
    device: `devices/${device}`,
    explain: `devices/${device}?source=Product&object=p3`,
    pings: 'pings',
    ping: `pings/${ping}`,
    jobs: 'jobs',
    queue: `jobs/${deadQueue}`,
    backend: 'backend',
    stats: 'stats',
    tokens: 'tokens',
    audit: 'audit',
    system: 'system',
    api: 'api',
  };
}

/** The activity begins with the last events, and shows what happens while its screen is open. */
async function takeActivity(page, url, { take, makeActivity }) {
  await page.goto(`${url}/console/activity`);
  await makeActivity();
  await page.getByRole('table', { name: 'Activity' }).waitFor();
  await take('activity');
  await page.goto(`${url}/console/activity?view=past`);
  await page.getByRole('table', { name: 'Activity' }).waitFor();
  await take('activity-past');
}

async function takeDialogs(page, url, take) {
  const open = async (path, button) => {
    await page.goto(`${url}/console/${path}`);
    await page.getByRole('button', { name: button, exact: true }).first().click();
  };
  await open('sources', 'New source');
  await page.getByLabel('Name').fill('Order');
  await page.getByRole('button', { name: 'Show as curl' }).click();
  await take('new-source');
  await open('users/ada', 'Delete');
  await page.getByLabel(/to confirm/).fill('ad');
  await take('delete-user');
  await open('users/ada', 'Invite a device');
  await page.getByRole('button', { name: 'Make invite' }).click();
  await page.getByRole('img', { name: 'QR code of the invite' }).waitFor();
  await take('invite');
  await open('pings', 'New ping');
  await page.getByLabel('Users', { exact: true }).fill('ada');
  await page.getByLabel('Message').fill('New orders for today');
  await take('new-ping');
  await open('data?source=Product', 'Import');
  await page.getByLabel('Or paste it here').fill('id,name,stock\np3,"Signal lamp, spare",12\np900,Rope,4\n');
  await take('import');
  await page.getByRole('button', { name: 'Review' }).click();
  await page.getByText('1 new, 1 changed').waitFor();
  await take('import-review');
  await open('data?source=Product&of=shared', 'terms');
  await page.getByLabel('Content').waitFor();
  await take('document');
  await open('backend', 'Check the backend');
  await page.getByRole('button', { name: 'Check', exact: true }).click();
  await page.getByRole('dialog').getByRole('status').waitFor();
  await take('backend-checked');
}

/** Writes what the window shows as a picture of the documentation. */
async function takeForDocs(page, file) {
  const picture = await page.screenshot({ animations: 'disabled' });
  writeFileSync(join(ROOT, 'docs/images', `${file}.webp`), await toWebp(browser, picture));
}

async function signIn(page) {
  await page.getByLabel('Password').fill(ADMIN_PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}
