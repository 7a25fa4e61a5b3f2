import { spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { PATIENCE_MS } from './patience.ts';

const LOOK_EVERY_MS = 20;

/** A tab that shows a page. */
export interface Tab {
  /** Evaluates an expression in the page. Waits if its value is a promise. */
  evaluate(expression: string): Promise<unknown>;
  reload(): Promise<void>;
  close(): Promise<void>;
  /** Ends the process of the tab as a crash does. Some browsers cannot be told to. */
  crash?(): Promise<void>;
}

/** A browser whose profile outlives it. All its tabs share what pages store. */
export interface KillableBrowser {
  /** What pages logged as an error or threw and did not catch. */
  readonly errors: readonly string[];
  openTab(url: string): Promise<Tab>;
  setOffline(isOffline: boolean): Promise<void>;
  /** Kills the browser with all its processes. Resolves when it is gone. */
  kill(): Promise<void>;
}

interface BrowserProcess {
  readonly address: string;
  kill(): Promise<void>;
}

interface BrowserProgram {
  readonly program: string;
  readonly args: readonly string[];
  /** The file in which the browser says where it listens. */
  readonly addressFile: string;
  /** Finds the address in the text of the file, unless it is incomplete. */
  readonly addressIn: (text: string) => string | undefined;
}

/** Starts a browser and waits until it says where it listens. */
export async function startBrowserProcess(browser: BrowserProgram): Promise<BrowserProcess> {
  const { program, args, addressFile, addressIn } = browser;
  // The browser before it was killed and has left its own.
  await rm(addressFile, { force: true });
  // A group of its own: the kill reaches the processes of pages and storage, too.
  const child = spawn(program, args, { stdio: 'ignore', detached: true });
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const isRunning = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  const kill = async () => {
    if (isRunning()) process.kill(-(child.pid as number), 'SIGKILL');
    await gone;
  };
  for (let waitedMs = 0; waitedMs < PATIENCE_MS && isRunning(); waitedMs += LOOK_EVERY_MS) {
    const address = addressIn(await readFile(addressFile, 'utf8').catch(() => ''));
    if (address !== undefined) return { address, kill };
    await pause(LOOK_EVERY_MS);
  }
  await kill();
  throw new Error(`${program} did not start`);
}
