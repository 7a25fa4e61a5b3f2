import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { collectErrors, launchChromium, launchHeadlessShell } from './chromium.ts';
import { PATIENCE_MS } from './patience.ts';

export type { Page } from 'playwright-core';

export interface PageOptions extends BrowserContextOptions {
  /** The tab opens in this context and shares its storage; without one it gets a context of its own. */
  readonly context?: BrowserContext;
  /** The page opens in the whole Chromium, because its headless shell crashes in this test. */
  readonly whole?: boolean;
  /** Errors that the test provokes on purpose, such as the one Chromium logs for a request without a network. */
  readonly expectedErrors?: readonly RegExp[];
}

export interface TestBrowser {
  /**
   * Opens a page and closes it at the end of the test. The test fails when the page logged an error, threw an exception
   * that nobody caught, or broke its Content Security Policy, which Chromium logs as an error as well.
   */
  openPage(url: string, options?: PageOptions): Promise<Page>;
  /**
   * Opens the address in one page that all tests of the file share, with its cookies: a page that has run an app before shows
   * it again for a third of the CPU time. A test that fails ends the page.
   */
  openSharedPage(url: string, options?: Pick<PageOptions, 'expectedErrors'>): Promise<Page>;
}

/**
 * The Chromium of this process. Test files share their process and so their browser, because a start takes a second of CPU
 * time; tests share nothing, because each page has a context of its own. Playwright ends it with the process.
 */
let shared: Promise<Browser> | null = null;

async function sharedBrowser(): Promise<Browser> {
  const running = await shared?.catch(() => null);
  if (running?.isConnected() === true) return running;
  shared = launchHeadlessShell();
  return shared;
}

/** Runs Chromium without a window for the tests of this file or `describe` block. */
export function useBrowser(): TestBrowser {
  let browser: Browser;
  let kept: Page | null = null;
  const closeKept = async () => {
    await kept?.context().close();
    kept = null;
  };
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterAll(closeKept);
  const browserFor = ({ permissions }: BrowserContextOptions, whole: boolean) =>
    whole || permissions?.includes('notifications') ? wholeBrowser() : browser;
  return {
    async openPage(url, { context, whole = false, expectedErrors = [], ...options } = {}) {
      const page = await (context ?? (await openContext(await browserFor(options, whole), options))).newPage();
      failOnErrors(page, expectedErrors);
      limitScripts(page);
      await page.goto(url);
      return page;
    },
    async openSharedPage(url, { expectedErrors = [] } = {}) {
      kept ??= await newPage(browser);
      leaveBehindNothing(kept, expectedErrors, closeKept);
      await kept.goto(url);
      return kept;
    },
  };
}

/** The browser of one test whose pages need more than the headless shell has. */
async function wholeBrowser(): Promise<Browser> {
  const browser = await launchChromium();
  onTestFinished(() => browser.close());
  return browser;
}

async function openContext(browser: Browser, options: BrowserContextOptions): Promise<BrowserContext> {
  const context = await newContext(browser, options);
  onTestFinished(() => context.close());
  return context;
}

async function newContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  // Without a graphics card, a page that moves all the time keeps a core busy.
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  return context;
}

async function newPage(browser: Browser): Promise<Page> {
  const page = await (await newContext(browser)).newPage();
  limitScripts(page);
  return page;
}

function failOnErrors(page: Page, expected: readonly RegExp[]): void {
  const errors: string[] = [];
  collectErrors(page, errors);
  onTestFinished(async () => {
    await page.close();
    throwUnexpected(page, errors, expected);
  });
}

/** What tests listen to in the page that they share. */
const LISTENED = ['console', 'pageerror', 'request', 'response', 'dialog'] as const;

/** Ends what a test has changed of the page that it shares with others. Fails the test as `failOnErrors` does. */
function leaveBehindNothing(page: Page, expected: readonly RegExp[], close: () => Promise<void>): void {
  const errors: string[] = [];
  collectErrors(page, errors);
  onTestFinished(async ({ task }) => {
    for (const event of LISTENED) page.removeAllListeners(event);
    if (task.result?.state === 'fail') await close();
    else await page.unrouteAll({ behavior: 'ignoreErrors' });
    throwUnexpected(page, errors, expected);
  });
}

function throwUnexpected(page: Page, errors: readonly string[], expected: readonly RegExp[]): void {
  const unexpected = errors.filter((error) => !expected.some((pattern) => pattern.test(error)));
  if (unexpected.length > 0) throw new Error(`errors in the page ${page.url()}:\n${unexpected.join('\n')}`);
}

const SHOWN_SCRIPT_UNITS_MAX = 200;

/**
 * Makes `page.evaluate` fail when the script in the page does not end. Playwright's time-outs do not apply to it, so a promise
 * that is never settled would hang until the time-out of the test, which does not say what hangs.
 */
export function limitScripts(page: Page, waitMsMax = PATIENCE_MS): void {
  const evaluate = page.evaluate.bind(page) as (script: unknown, argument?: unknown) => Promise<unknown>;
  const limited = async (script: unknown, argument?: unknown) => {
    let timer: NodeJS.Timeout | undefined;
    const timedOut = new Promise<never>((_, reject) => {
      const shown = String(script).slice(0, SHOWN_SCRIPT_UNITS_MAX);
      const problem = `the script has not ended after ${waitMsMax} ms in the page ${page.url()}:\n${shown}`;
      timer = setTimeout(() => reject(new Error(problem)), waitMsMax);
    });
    try {
      return await Promise.race([evaluate(script, argument), timedOut]);
    } finally {
      clearTimeout(timer);
    }
  };
  page.evaluate = limited as Page['evaluate'];
}
