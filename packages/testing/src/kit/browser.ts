import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { launchChromium } from './chromium.ts';

export type { Page } from 'playwright-core';

export interface PageOptions extends BrowserContextOptions {
  /** The tab opens in this context and shares its storage; without one it gets a context of its own. */
  readonly context?: BrowserContext;
  /** Errors that the test provokes on purpose, such as the one Chromium logs for a request without a network. */
  readonly expectedErrors?: readonly RegExp[];
}

export interface TestBrowser {
  /**
   * Opens a page and closes it at the end of the test. The test fails when the page logged an error, threw an exception
   * that nobody caught, or broke its Content Security Policy, which Chromium logs as an error as well.
   */
  openPage(url: string, options?: PageOptions): Promise<Page>;
}

// Ends a call that hangs; it does not measure speed.
const TIMEOUT_MS = 600_000;

/** Runs Chromium without a window while the tests of this file or `describe` block run. */
export function useBrowser(): TestBrowser {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());
  return {
    async openPage(url, { context, expectedErrors = [], ...options } = {}) {
      const page = await (context ?? (await openContext(browser, options))).newPage();
      failOnErrors(page, expectedErrors);
      await page.goto(url);
      return page;
    },
  };
}

async function openContext(browser: Browser, options: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  context.setDefaultTimeout(TIMEOUT_MS);
  return context;
}

function failOnErrors(page: Page, expected: readonly RegExp[]): void {
  const errors = collectErrors(page);
  onTestFinished(async () => {
    await page.close();
    const unexpected = errors.filter((error) => !expected.some((pattern) => pattern.test(error)));
    if (unexpected.length > 0) throw new Error(`errors in the page ${page.url()}:\n${unexpected.join('\n')}`);
  });
}

export function collectErrors(page: Page): readonly string[] {
  const errors: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => errors.push(`uncaught: ${error.stack ?? error.message}`));
  return errors;
}
