import type { Browser } from 'playwright-core';
import { findProgram } from './find-program.ts';

// Ends a start that hangs; it does not measure speed.
const TIMEOUT_MS = 600_000;
// The browser can reach this machine only.
const LOOPBACK_ONLY = '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1';

/** Starts Chromium without a window. */
export async function launchChromium(): Promise<Browser> {
  const { chromium } = await import('playwright-core');
  return chromium.launch({
    executablePath: findProgram({
      names: ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'],
      variable: 'TIDEMARK_CHROMIUM',
    }),
    args: [LOOPBACK_ONLY],
    // Chromium refuses to run its sandbox as root.
    chromiumSandbox: process.getuid?.() !== 0,
    timeout: TIMEOUT_MS,
  });
}
