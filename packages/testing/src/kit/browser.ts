import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { findProgram } from './find-program.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A real browser without a window, driven over DevTools by a pipe, with a profile of its own. */
export interface Browser {
  openPage(url: string): Promise<BrowserPage>;
  /** As if the user had allowed the site to show notifications. */
  allowNotifications(origin: string): Promise<void>;
  /** Ends the process and takes its profile away. */
  close(): Promise<void>;
}

export interface BrowserPage {
  /** What the expression gives in the page, awaited; an exception there is one here. */
  evaluate<T>(expression: string): Promise<T>;
  reload(): Promise<void>;
  /** Takes the network away, or gives it back, as flight mode does. */
  setOffline(isOffline: boolean): Promise<void>;
  /** Gives the page's service worker a push, as the push service would, after the browser has decrypted it. */
  deliverPush(payload: string): Promise<void>;
  close(): Promise<void>;
}

const ARGUMENTS = [
  '--headless=new',
  '--remote-debugging-pipe',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Nothing but this machine can be reached, whatever the browser would like to ask its maker.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1',
];

export async function openBrowser(): Promise<Browser> {
  const profile = await temporaryFolder();
  // Root may not have a sandbox.
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const child = spawn(browserPath(), [...ARGUMENTS, ...sandbox, `--user-data-dir=${profile.path}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const devTools = new DevTools(child);
  return {
    async openPage(url) {
      const { targetId } = await devTools.ask<{ targetId: string }>('Target.createTarget', { url: 'about:blank' });
      const attached = { targetId, flatten: true };
      const { sessionId } = await devTools.ask<{ sessionId: string }>('Target.attachToTarget', attached);
      const page = new Page(devTools, targetId, sessionId);
      await page.go(url);
      return page;
    },
    async allowNotifications(origin) {
      await devTools.ask('Browser.grantPermissions', { origin, permissions: ['notifications'] });
    },
    async close() {
      const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : Promise.resolve();
      child.kill('SIGKILL');
      await exited;
      await profile.remove();
    },
  };
}

function browserPath(): string {
  return findProgram({
    names: ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'],
    variable: 'TIDEMARK_CHROMIUM',
    script: 'scripts/chromium.mjs',
  });
}

class Page implements BrowserPage {
  readonly #devTools: DevTools;
  readonly #target: string;
  readonly #session: string;

  constructor(devTools: DevTools, target: string, session: string) {
    this.#devTools = devTools;
    this.#target = target;
    this.#session = session;
  }

  async go(url: string): Promise<void> {
    await this.#ask('Page.enable');
    await this.#ask('Network.enable');
    await this.#whenLoaded(() => this.#ask('Page.navigate', { url }));
  }

  async reload(): Promise<void> {
    await this.#whenLoaded(() => this.#ask('Page.reload'));
  }

  async setOffline(isOffline: boolean): Promise<void> {
    const pace = { latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
    await this.#ask('Network.emulateNetworkConditions', { offline: isOffline, ...pace });
  }

  async deliverPush(payload: string): Promise<void> {
    const updated = this.#devTools.hear('ServiceWorker.workerRegistrationUpdated', this.#session);
    await this.#ask('ServiceWorker.enable');
    const [registration] = ((await updated) as Registered).registrations;
    if (registration === undefined) throw new Error('the page has no service worker');
    const { origin } = new URL(registration.scopeURL);
    const { registrationId } = registration;
    await this.#ask('ServiceWorker.deliverPushMessage', { origin, registrationId, data: payload });
  }

  async evaluate<T>(expression: string): Promise<T> {
    const how = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await this.#ask<Evaluated>('Runtime.evaluate', how);
    if (exceptionDetails === undefined) return result.value as T;
    throw new Error(`in the page: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
  }

  async close(): Promise<void> {
    await this.#devTools.ask('Target.closeTarget', { targetId: this.#target });
  }

  async #whenLoaded(begin: () => Promise<unknown>): Promise<void> {
    const loaded = this.#devTools.hear('Page.loadEventFired', this.#session);
    await begin();
    await loaded;
  }

  #ask<T = unknown>(method: string, params: object = {}): Promise<T> {
    return this.#devTools.ask<T>(method, params, this.#session);
  }
}

interface Evaluated {
  readonly result: { readonly value?: unknown };
  readonly exceptionDetails?: { readonly text: string; readonly exception?: { readonly description?: string } };
}

interface Registered {
  readonly registrations: readonly { readonly registrationId: string; readonly scopeURL: string }[];
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly sessionId?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

interface Waiting {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

interface Listener {
  readonly method: string;
  readonly session: string;
  readonly tell: (params: unknown) => void;
}

const END = '\0';

/** Questions and events of the browser: JSON on two pipes, each message ended by a zero. */
class DevTools {
  readonly #pipe: Writable;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listening = new Set<Listener>();
  #lastId = 0;
  #received = '';

  constructor(child: ChildProcess) {
    const [, , , toBrowser, fromBrowser] = child.stdio;
    this.#pipe = toBrowser as Writable;
    (fromBrowser as Readable).setEncoding('utf8').on('data', (text: string) => this.#receive(text));
    // A browser that is gone closes its end, and is told apart by its exit.
    this.#pipe.on('error', () => undefined);
    child.on('error', (error) => this.#fail(error));
    child.on('exit', () => this.#fail(new Error('the browser ended')));
  }

  ask<T>(method: string, params: object = {}, session?: string): Promise<T> {
    const id = ++this.#lastId;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const about = { id, method, params, ...(session === undefined ? {} : { sessionId: session }) };
      this.#pipe.write(JSON.stringify(about) + END);
    });
  }

  /** What is told about it when it happens next. */
  hear(method: string, session: string): Promise<unknown> {
    return new Promise((resolve) => {
      const listener: Listener = {
        method,
        session,
        tell: (params) => {
          this.#listening.delete(listener);
          resolve(params);
        },
      };
      this.#listening.add(listener);
    });
  }

  #receive(text: string): void {
    const [last = '', ...messages] = (this.#received + text).split(END).reverse();
    this.#received = last;
    for (const message of messages.reverse()) this.#take(JSON.parse(message) as Message);
  }

  #take({ id, method, sessionId, params, result, error }: Message): void {
    if (id === undefined) {
      for (const one of [...this.#listening]) if (one.method === method && one.session === sessionId) one.tell(params);
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result as never);
    else waiting?.reject(new Error(error.message));
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
