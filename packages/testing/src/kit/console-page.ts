import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import type { Page, PageOptions, TestBrowser } from './browser.ts';
import { PATIENCE_MS } from './patience.ts';
import { ADMIN_PASSWORD, type TestServer } from './test-server.ts';

export const HOSTILE = '<img src=x onerror=alert(1)>\u202e"\'&amp;';
export const PATIENCE = { timeout: PATIENCE_MS };
/** Chromium logs every refused request as an error of the page. */
export const REFUSED = [/Failed to load resource: the server responded with a status of 4[0-9]{2}/];

interface Answer {
  readonly token: string;
  readonly client_id: string;
  readonly sources: Readonly<Record<string, { readonly token: string }>>;
}

/** Calls of the API that prepare what the console shows, and read what it has done. */
interface ServerCalls {
  readonly post: (path: string, body: object, token?: string) => Promise<Answer>;
  readonly read: (path: string) => Promise<Readonly<Record<string, unknown>>>;
  readonly objectsOf: (source: string) => Promise<Readonly<Record<string, unknown>>>;
  /** Makes a device of a user that has pulled the shared source once and acknowledged it. Returns its id. */
  readonly newDevice: (login: string, source: string) => Promise<string>;
}

export function callsTo(server: () => TestServer): ServerCalls {
  const post: ServerCalls['post'] = async (path, body, token = server().token) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const response = await fetch(`${server().url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(response.status).toBe(200);
    return (await response.json()) as Answer;
  };
  const read: ServerCalls['read'] = async (path) => {
    const response = await fetch(`${server().url}${path}`, { headers: { authorization: `Bearer ${server().token}` } });
    return (await response.json()) as Record<string, unknown>;
  };
  const newDevice: ServerCalls['newDevice'] = async (login, source) => {
    const password = 'sea-urchin-4410';
    await post('/rc/v1/users', { attributes: { login, password } });
    const { token, client_id } = await post('/sync/v1/login', { login, password });
    const pull = (sources: object) => post('/sync/v1/pull', { client_id, sources }, token);
    const { sources } = await pull({ [source]: {} });
    await pull({ [source]: { token: sources[source]?.token } });
    return client_id;
  };
  return { post, read, newDevice, objectsOf: (source) => read(`/rc/v1/users/*/sources/${source}/docs/md`) };
}

export async function signIn(page: Page, password = ADMIN_PASSWORD): Promise<void> {
  await page.getByLabel('Password').fill(password);
  await page.keyboard.press('Enter');
}

/** Returns what opens a screen of a console for the administrator, in the page that the tests of a file share. */
export function consoleOf(browser: TestBrowser, server: () => TestServer) {
  const signedIn = new WeakSet<Page>();
  return async (path: string, options: Pick<PageOptions, 'expectedErrors'> = {}): Promise<Page> => {
    const page = await browser.openSharedPage(`${server().url}/console/${path}`, options);
    if (!signedIn.has(page)) await signIn(page);
    signedIn.add(page);
    return page;
  };
}

export const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

const NOWHERE = 'There is no such screen';

/**
 * Opens a screen as a link of the console does, so that the page and what a test has loaded into it stay. The console shows the last screen
 * until the next one is there; a screen that does not exist between them tells them apart.
 */
export async function openScreen(page: Page, path: string): Promise<void> {
  const goTo = (screen: string) =>
    page.evaluate(`history.pushState(null, '', ${JSON.stringify(`/console/${screen}`)})`);
  await goTo('nowhere');
  await page.getByText(NOWHERE).waitFor();
  await goTo(path);
  await page.getByText(NOWHERE).waitFor({ state: 'detached' });
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(() => page.getByLabel('Loading').count(), PATIENCE).toBe(0);
}

/** The addresses of all screens, with a source, user and group of this name. */
export function screensOf(name: string, device: string): readonly string[] {
  return [
    '',
    'sources',
    `sources/${name}`,
    'users',
    `users/${name}`,
    'groups',
    `groups/${name}`,
    `devices/${device}?source=${name}&object=1`,
    `data?source=${name}`,
    'files',
    'pings',
    'backend',
    'stats',
    'api',
    'activity',
    'jobs',
    'jobs/uploads',
    'tokens',
    'audit',
    'system',
  ];
}

/** Runs a command as somebody who copies it into a shell. */
export async function runShell(command: string, token: string): Promise<void> {
  await promisify(execFile)('sh', ['-c', command], { env: { ...process.env, TOKEN: token } });
}
