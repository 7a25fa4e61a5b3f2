import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, BrowserContext } from 'playwright-core';
import { findProgram } from './find-program.ts';
import { PATIENCE_MS } from './patience.ts';

const LOOK_EVERY_MS = 20;
// The browser can reach this machine only.
const LOOPBACK_ONLY = '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1';
// Chromium refuses to run its sandbox as root.
const IS_ROOT = process.getuid?.() === 0;

const programPath = () =>
  findProgram({
    names: ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'],
    variable: 'TIDEMARK_CHROMIUM',
  });

/** Starts Chromium without a window. */
export async function launchChromium(): Promise<Browser> {
  const { chromium } = await import('playwright-core');
  return chromium.launch({
    executablePath: programPath(),
    args: [LOOPBACK_ONLY],
    chromiumSandbox: !IS_ROOT,
    timeout: PATIENCE_MS,
  });
}

export interface KillableChromium {
  /** The profile of the browser, whose data outlives it. */
  readonly context: BrowserContext;
  /** Kills the browser with all its processes. Resolves when it is gone. */
  kill(): Promise<void>;
}

/** Starts Chromium with the profile in this folder, so that the next one finds what it has stored. */
export async function launchKillableChromium(folder: string): Promise<KillableChromium> {
  const portFile = join(folder, 'DevToolsActivePort');
  await rm(portFile, { force: true });
  const flags = ['--headless', '--remote-debugging-port=0', '--no-first-run', LOOPBACK_ONLY];
  const child = spawn(programPath(), [`--user-data-dir=${folder}`, ...flags, ...(IS_ROOT ? ['--no-sandbox'] : [])], {
    stdio: 'ignore',
    // A group of its own: the kill reaches the processes of pages and storage, too.
    detached: true,
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const kill = async () => {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
      process.kill(-child.pid, 'SIGKILL');
    }
    await gone;
  };
  try {
    const { chromium } = await import('playwright-core');
    const browser = await chromium.connectOverCDP(await addressIn(portFile, child), { timeout: PATIENCE_MS });
    const [context] = browser.contexts();
    if (context === undefined) throw new Error('the browser has no profile');
    context.setDefaultTimeout(PATIENCE_MS);
    return { context, kill };
  } catch (error) {
    await kill();
    throw error;
  }
}

/** Waits for the file in which Chromium tells its port. */
async function addressIn(portFile: string, child: ChildProcess): Promise<string> {
  for (let waitedMs = 0; waitedMs < PATIENCE_MS && child.exitCode === null; waitedMs += LOOK_EVERY_MS) {
    const [port = '', path] = (await readFile(portFile, 'utf8').catch(() => '')).trim().split('\n');
    if (path !== undefined) return `ws://127.0.0.1:${port}${path}`;
    await pause(LOOK_EVERY_MS);
  }
  throw new Error('Chromium did not start');
}
