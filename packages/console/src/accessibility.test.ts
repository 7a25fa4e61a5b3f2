import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { TidemarkClient } from '@tidemark/backend';
import type { ConnectorReport } from '@tidemark/protocol';
import { answerJson, openFakeBackend, openLibrary, type Page, useBrowser as startBrowser } from '@tidemark/testing';
import {
  callsTo,
  consoleOf,
  heading,
  openScreen,
  PATIENCE,
  REFUSED,
  screensOf,
  startTestServer,
  type TestServer,
} from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/**
 * `npm run test:long` also looks at dialogs in the dark, whose colours are those of the screens, and at what dialogs show after
 * their buttons were pressed, which is made of the parts that screens are made of.
 */
const IS_LONG = process.env.TIDEMARK_LONG_TESTS === '1';
const NAME = 'seen';
const PASSWORD = 'sea-urchin-4410';

/** The titles of all dialogs that a button of some screen opens. */
const DIALOGS = [
  'A device of seen',
  'Add a member',
  'Add object',
  'Address of the backend',
  'Audit entry',
  'Change the schema',
  'Check the backend',
  'Delete 1 object',
  'Delete all data of this server',
  'Delete backup',
  'Delete device',
  'Delete old backups',
  'Delete user',
  'Document notes',
  'Download backup',
  'Drop source',
  'Edit source',
  'Find',
  'Forget the connector',
  'Import objects',
  'Invite a device',
  'Make a backup',
  'Mode and oldest version',
  'New document',
  'New ping',
  'New source',
  'New token',
  'New user',
  'Pause the queue',
  'Ping again who was not reached',
  'Ping all devices of the user',
  'Refresh fetched',
  'Refresh from the backend',
  'Remove all dead jobs',
  'Remove seen from seen',
  'Remove the job',
  'Retry all dead jobs',
  'Retry the job',
  'Revoke the token',
  'Set a schema',
  'Set an attribute',
  'Set the groups',
  'Set the label',
  'Set the password',
  'Sign the device out',
  'Start over with fetched',
  'Verify backup',
  'Verify the file',
  'What happened',
  'What the next pull of fetched brings',
  'Wipe device',
];

/** A connector with something in every part of its screen. */
const CONNECTOR: ConnectorReport = {
  ...{ kind: 'postgres', state: 'waiting', runs_in: 'process', server: 'here', fresh_at: null, lag_ms: null },
  ...{ position: '0/1', rows_total: 7, rows_per_s: 1 },
  slot: {
    ...{ name: 'tidemark', active: false, wal_status: 'extended', invalidation_reason: null },
    ...{ retained_bytes: 1_000, safe_bytes: 10, failover: false },
  },
  tables: [
    { table: 'public.a', source: NAME, phase: 'copying', rows: 1, estimate: 4, percent: 25, rows_per_s: 1 },
    { table: 'public.b', source: null, phase: 'ready', rows: 4, estimate: 4, percent: 100, rows_per_s: 0 },
  ],
  error: { at: '2030-01-31T12:00:00.000Z', message: 'connect ECONNREFUSED 127.0.0.1:5432' },
  healed: { at: '2030-01-31T12:00:00.000Z', reason: 'slot_lost' },
  problems: { count: 1, samples: [{ table: 'public.a', key: '1', reason: 'its key is too long' }] },
  waiting: { count: 1, samples: [{ kind: 'user', table: 'public.a', name: 'ada' }] },
};

const browser = startBrowser();

interface Filled {
  readonly server: TestServer;
  /** The addresses of all screens. */
  readonly screens: readonly string[];
  close(): Promise<void>;
}

let filled: Filled;

beforeAll(async () => {
  filled = await startFilled();
});

afterAll(() => filled.close());

const openConsole = consoleOf(browser, () => filled.server);

/** Starts a server on which every screen has something to show, and every action its button. */
async function startFilled(): Promise<Filled> {
  const backend = await openFakeBackend(() => '');
  backend.on('query', (_, response) => response.writeHead(503).end('Out of memory'));
  // It leaves logins to the stored passwords.
  backend.on('authenticate', (_, response) => response.writeHead(501).end());
  backend.on('*', (_, response) => answerJson(response, {}));
  const server = await startTestServer();
  const library = await openLibrary(server.folder);
  const close = async () => {
    await library.close();
    await server.close();
    await backend.close();
  };
  const { post, read, newDevice } = callsTo(() => server);
  await post('/rc/v1/system/appserver', { adapter_url: backend.url });
  await post('/rc/v1/sources', { name: NAME, partition_type: 'app' });
  await post('/rc/v1/sources', { name: 'fetched', partition_type: 'app', adapter: 'backend' });
  const calls = new TidemarkClient(server);
  await calls.sources.setSchema('fetched', { schema: { properties: { a: { type: 'integer' } } } });
  const file = await calls.files.add(new Blob(['no picture'], { type: 'image/png' }), { name: 'bow.png' });
  const missing = { $file: { ...file.$file, sha256: 'f'.repeat(64) } };
  await post(`/app/v1/${NAME}/push_objects`, { objects: { 1: { a: 1, file, missing } } });
  await post(`/rc/v1/users/*/sources/${NAME}/docs/notes`, { data: 'Notes' });
  const device = await newDevice(NAME, NAME);
  await post(`/rc/v1/users/${NAME}/groups`, { groups: [NAME] });
  const { token } = await post('/sync/v1/login', { login: NAME, password: PASSWORD });
  const phone = { device_type: 'android', device_pin: 'an-address', device_app_id: 'org.example' };
  const { client_id } = await post('/sync/v1/clients', phone, token);
  await post('/sync/v1/pull', { client_id, sources: { fetched: {} } }, token);
  await post('/rc/v1/tokens', { name: 'backend', scopes: ['push'] });
  await post('/rc/v1/system/backups', {});
  await library.leaveJob('uploads', 'dead');
  await post('/rc/v1/users/ping', { user_id: [NAME], message: 'Hello' });
  const pings = async () => (await read('/rc/v1/pings')) as unknown as readonly { ping_id: string; failed: number }[];
  await vi.waitFor(async () => expect((await pings())[0]?.failed).toBe(1), PATIENCE);
  const [ping] = await pings();
  await calls.connectors.report(NAME, CONNECTOR);
  const more = [
    'connectors',
    `connectors/${NAME}`,
    'sources/fetched',
    'files?show=missing',
    `files/${file.$file.sha256}`,
    `files/${missing.$file.sha256}`,
    `devices/${client_id}?source=fetched&object=1`,
    `pings/${ping?.ping_id}`,
  ];
  return { server, screens: [...screensOf(NAME, device), ...more], close };
}

it('[CONSOLE-10] no screen or dialog has a serious accessibility problem, light or dark, and each dialog shows its call as curl', async () => {
  const { server, screens } = filled;
  const page = await browser.openSharedPage(`${server.url}/console/`);
  await heading(page, 'Sign in to Tidemark');
  const problems = [...(await axe(page, 'sign-in'))];
  await openConsole('');
  await heading(page, 'Overview');
  const { post } = callsTo(() => server);
  const titles = new Set<string>();
  const opened = new Set<string>();
  for (const path of screens) {
    await openScreen(page, path);
    problems.push(...(await axe(page, path, path === '' ? 'html' : SCREEN)));
    if (path.startsWith('data')) await page.getByLabel('Select 1').check();
    if (path === 'activity') {
      await post(`/app/v1/${NAME}/push_objects`, { objects: { 1: { a: 2 } } });
      await page.getByRole('table', { name: 'Activity' }).waitFor();
    }
    const openers = page.locator('[aria-haspopup="dialog"]');
    const labels = await openers.allTextContents();
    for (const [index, label] of labels.entries()) {
      const opener = openerOf(path, label);
      if (opened.has(opener)) continue;
      opened.add(opener);
      await openers.nth(index).click();
      const title = await openedTitle(page);
      if (!titles.has(title)) problems.push(...(await checkDialog(page, title)));
      titles.add(title);
      await closeDialog(page);
    }
  }
  expect(problems).toEqual([]);
  expect([...titles].sort()).toEqual(DIALOGS);
});

/** Screens whose rows all open the same dialog. */
const LISTS = ['activity', 'audit'];

/** Buttons that have this in common open the same dialog: screens of one kind, such as two devices, have the same buttons. */
function openerOf(path: string, label: string): string {
  if (label.startsWith('Find')) return 'Find';
  const [kind = ''] = path.split(/[/?]/);
  return LISTS.includes(kind) ? kind : `${kind} ${label}`;
}

/** Waits until a dialog has opened and stopped moving. Returns its title. */
async function openedTitle(page: Page): Promise<string> {
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  const isStill = `getComputedStyle(document.querySelector('[role="dialog"]')).opacity === '1'
    && document.querySelector('[role="dialog"]').getAnimations().length === 0`;
  await expect.poll(() => page.evaluate<boolean>(isStill), PATIENCE).toBe(true);
  return (await dialog.getByRole('heading').first().textContent()) ?? '';
}

async function closeDialog(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

/** Returns what is wrong with the open dialog: for people with disabilities, or because its call is not shown. */
async function checkDialog(page: Page, title: string): Promise<readonly string[]> {
  const dialog = page.getByRole('dialog');
  const asCurl = dialog.getByRole('button', { name: 'Show as curl' });
  const isAction = (await asCurl.count()) > 0;
  if (isAction) await asCurl.click();
  const command = isAction ? await dialog.locator('.command pre').last().textContent() : 'curl';
  const isShown = /curl|^# fill in the fields above$/.test(command ?? '');
  return [...(isShown ? [] : [`${title}: the call is not shown`]), ...(await axe(page, title, DIALOG))];
}

it.each([
  ['reduce', false],
  ['no-preference', true],
] as const)('[CONSOLE-10] with prefers-reduced-motion: %s, dialogs move: %s', async (reducedMotion, moves) => {
  const page = await openConsole('users');
  await page.emulateMedia({ reducedMotion });
  await heading(page, 'Users');
  await page.evaluate(`globalThis.moved = [];
    addEventListener('transitionrun', ({ target, propertyName }) => {
      if (target.matches('[role="dialog"]')) moved.push(propertyName);
    });`);
  await page.getByRole('button', { name: 'New user' }).click();
  await openedTitle(page);
  await closeDialog(page);
  expect(await page.evaluate<boolean>('moved.length > 0')).toBe(moves);
  await page.emulateMedia({ reducedMotion: 'reduce' });
});

if (IS_LONG) {
  it('[CONSOLE-10] reviews, answers and refusals within dialogs have no serious accessibility problem', checkAnswers);
}

async function checkAnswers(): Promise<void> {
  const page = await openConsole('', { expectedErrors: [...REFUSED, /ERR_|Failed to/] });
  await heading(page, 'Overview');
  const problems: string[] = [];
  const dialog = page.getByRole('dialog');
  const button = (name: string) => dialog.getByRole('button', { name, exact: true });
  const check = async (what: string) => problems.push(...(await axe(page, what, DIALOG)));
  const open = async (path: string, name: string) => {
    await openScreen(page, path);
    await page.getByRole('button', { name, exact: true }).first().click();
    await openedTitle(page);
  };

  await open(`data?source=${NAME}`, 'Import');
  await dialog.getByLabel('Or paste it here').fill('no,name\n1,Kiel\n2,Bremen\n');
  await check('columns of an import');
  await button('Review').click();
  await dialog.getByText(/1 new, 1 changed/).waitFor();
  await check('review of an import');

  await open(`data?source=${NAME}`, 'Add object');
  await dialog.getByRole('textbox', { name: 'Id' }).fill('7');
  await dialog.getByLabel('Attributes as JSON').fill('[');
  await button('Review').click();
  await dialog.getByText(/It is not JSON/).waitFor();
  await check('attributes that are not JSON');
  await dialog.getByLabel('Attributes as JSON').fill('{"a": 1}');
  await button('Review').click();
  await dialog.getByRole('list', { name: 'Difference' }).waitFor();
  await check('review of an object');

  await open(`data?source=${NAME}`, 'New document');
  await dialog.getByLabel('Stored as').selectOption('objects');
  await dialog.getByText('This is not JSON of objects by id').waitFor();
  await check('a document that is not JSON');

  await open(`users/${NAME}`, 'Invite a device');
  await button('Make invite').click();
  await dialog.getByRole('img', { name: 'QR code of the invite' }).waitFor();
  await check('the code of an invite');

  await open(`users/${NAME}`, 'Delete');
  await dialog.getByLabel(/to confirm/).fill(NAME);
  await check('a typed confirmation');

  await open(`users/${NAME}`, 'Simulate a device');
  await dialog
    .getByRole('list', { name: `Objects of ${NAME}` })
    .getByRole('listitem')
    .waitFor();
  await check('a simulated device');

  await open('users', 'New user');
  await dialog.getByRole('textbox', { name: 'Login' }).fill(NAME);
  await dialog.getByLabel('Password').first().fill(PASSWORD);
  await button('Create user').click();
  await dialog.getByText('The server refused').waitFor();
  await check('a refusal');

  await open('pings', 'New ping');
  await dialog.getByLabel('Users', { exact: true }).fill(NAME);
  await dialog.getByLabel('Message').fill('Hello');
  await button('Send ping').click();
  await dialog.getByText(/^To [0-9]+ device/).waitFor();
  await check('a ping that was sent');

  await open('tokens', 'New token');
  await dialog.getByLabel('Name').fill('another');
  await button('Create token').click();
  await dialog.getByText('Copy the token now').waitFor();
  await check('a new token');

  await open('backend', 'Check the backend');
  await button('Check').click();
  await dialog.getByText('reachable').first().waitFor();
  await check('the checks of the backend');

  await open('system', 'Verify');
  await button('Verify backup').click();
  await dialog.getByText('The backup is undamaged').waitFor(PATIENCE);
  await check('a backup that was verified');

  await openScreen(page, 'sources');
  await page.keyboard.press('Control+k');
  await openedTitle(page);
  await dialog.getByRole('combobox').fill('seen');
  await dialog.getByRole('option', { name: /seen/ }).first().waitFor();
  await check('names that the palette found');
  await closeDialog(page);

  await page.context().setOffline(true);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await openedTitle(page);
  await check('a sign-out that failed');
  expect(problems).toEqual([]);
}

/** What axe looks at. */
type Context = string | { readonly include: readonly string[]; readonly exclude: readonly string[] };

/** The other screens and the dialogs have the same colours; the long tests look at all of them in the dark. */
const DARK_EVERY_DAY: ReadonlySet<string> = new Set(['', 'sources', 'activity', `data?source=${NAME}`]);

/** A screen without the menu, which is the same on all of them. */
const SCREEN: Context = { include: ['html'], exclude: ['nav'] };
const DIALOG = '[role="dialog"]';

/** Returns the serious accessibility problems of the page or of a dialog, light and dark, each with the screen and the element. */
async function axe(page: Page, what: string, within: Context = 'html'): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE);
  const light = await problemsIn(page, 'light', within);
  if (!IS_LONG && !DARK_EVERY_DAY.has(what)) return light.map((problem) => `${what}: ${problem}`);
  // Only the contrast depends on the colours.
  const dark = await problemsIn(page, 'dark', within, ['color-contrast']);
  await page.emulateMedia({ colorScheme: 'light' });
  return [...light, ...dark].map((problem) => `${what}: ${problem}`);
}

async function problemsIn(
  page: Page,
  colorScheme: 'light' | 'dark',
  within: Context,
  rules?: readonly string[],
): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme });
  const shown = () => page.evaluate('document.documentElement.dataset.mantineColorScheme');
  await expect.poll(shown, PATIENCE).toBe(colorScheme);
  // Otherwise axe also describes every element that passed, which takes it longer than the checks.
  const chosen = rules === undefined ? {} : { runOnly: rules };
  // What dialogs are made of stands on screens in the same colours; the long tests look at their contrast, too.
  const left = within === DIALOG && !IS_LONG ? { rules: { 'color-contrast': { enabled: false } } } : {};
  const options = { resultTypes: ['violations'], ...chosen, ...left };
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)})`)) as {
    readonly violations: readonly {
      readonly id: string;
      readonly impact: string;
      readonly nodes: readonly { readonly html: string }[];
    }[];
  };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${colorScheme}: ${id}: ${html.slice(0, 200)}`));
}
