import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { findProgram } from './find-program.ts';
import { type KillableBrowser, startBrowserProcess, type Tab } from './killable-browser.ts';
import { PATIENCE_MS } from './patience.ts';

// The browser can reach this machine only.
const LOOPBACK_ONLY = '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1';
// Without these it tries to reach services of its maker at every start.
const NO_SERVICES = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
// Otherwise it emulates a graphics card, which takes CPU time and shows nothing that tests look at.
const NO_GRAPHICS = '--disable-gpu';
// Chromium refuses to run its sandbox as root.
const IS_ROOT = process.getuid?.() === 0;

const WHOLE = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const SHELL_FIRST = ['chromium-headless-shell', ...WHOLE];

const programPath = (names: readonly string[]) => findProgram({ names, variable: 'TIDEMARK_CHROMIUM' });

/** Starts Chromium without a window. */
export function launchChromium(): Promise<Browser> {
  return launch(programPath(WHOLE));
}

/**
 * Starts the build of Chromium that has no parts for windows, if it is here: pages take half the CPU time in it. It shows no
 * notifications.
 */
export function launchHeadlessShell(): Promise<Browser> {
  return launch(programPath(SHELL_FIRST));
}

async function launch(executablePath: string): Promise<Browser> {
  const { chromium } = await import('playwright-core');
  return chromium.launch({
    executablePath,
    args: [LOOPBACK_ONLY, NO_GRAPHICS],
    chromiumSandbox: !IS_ROOT,
    timeout: PATIENCE_MS,
  });
}

/** Chromium sometimes accepts a connection when it starts, and never answers it. Then it is started again. */
const LAUNCHES_MAX = 3;

/** Starts Chromium with the profile in this folder, so that the next one finds what it has stored. */
export async function launchKillableChromium(folder: string): Promise<KillableBrowser> {
  for (let launch = 1; ; launch++) {
    try {
      return await launchOnce(folder);
    } catch (error) {
      if (launch === LAUNCHES_MAX) throw error;
    }
  }
}

async function launchOnce(folder: string): Promise<KillableBrowser> {
  const flags = [
    '--headless',
    '--remote-debugging-port=0',
    '--no-first-run',
    ...NO_SERVICES,
    LOOPBACK_ONLY,
    NO_GRAPHICS,
  ];
  const args = [`--user-data-dir=${folder}`, ...flags, ...(IS_ROOT ? ['--no-sandbox'] : [])];
  const { address, kill } = await startBrowserProcess({
    program: programPath(SHELL_FIRST),
    args,
    addressFile: join(folder, 'DevToolsActivePort'),
    addressIn: (text) => /^\d+\n\/.+/.exec(text)?.[0].replace('\n', ''),
  });
  try {
    const { chromium } = await import('playwright-core');
    const browser = await chromium.connectOverCDP(`ws://127.0.0.1:${address}`, {
      timeout: PATIENCE_MS / LAUNCHES_MAX,
    });
    const [context] = browser.contexts();
    if (context === undefined) throw new Error('the browser has no profile');
    context.setDefaultTimeout(PATIENCE_MS);
    return killable(context, kill);
  } catch (error) {
    await kill();
    throw error;
  }
}

function killable(context: BrowserContext, kill: () => Promise<void>): KillableBrowser {
  const errors: string[] = [];
  return {
    errors,
    async openTab(url): Promise<Tab> {
      const page = await context.newPage();
      collectErrors(page, errors);
      await page.goto(url);
      return {
        evaluate: (expression) => page.evaluate(expression),
        reload: async () => void (await page.reload()),
        close: () => page.close(),
        crash: () => crash(page),
      };
    },
    setOffline: (isOffline) => context.setOffline(isOffline),
    kill,
  };
}

async function crash(page: Page): Promise<void> {
  const crashed = new Promise<void>((resolve) => page.once('crash', () => resolve()));
  const session = await page.context().newCDPSession(page);
  // It is not answered, because there is nobody left to do so.
  session.send('Page.crash').catch(() => undefined);
  await crashed;
}

/** Adds to `errors` what the page logs as an error or throws and does not catch. */
export function collectErrors(page: Page, errors: string[]): void {
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => errors.push(`uncaught: ${error.stack ?? error.message}`));
}
