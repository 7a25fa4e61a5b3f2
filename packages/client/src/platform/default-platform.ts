import { clientError } from '../client-error.ts';
import type { NetworkHints, Platform, RequestLock, TabFeatures } from '../ports/platform.ts';

/** The features that browsers, Node.js and React Native have in common. No other file uses globals of the platform. */
export function defaultPlatform(): Platform {
  return {
    nowMs: () => Date.now(),
    randomBytes,
    after: (delayMs, callback) => (delayMs === 0 ? nextTask(callback) : afterTime(delayMs, callback)),
    fetch: (url, init) => globalThis.fetch(url, init),
    network: browserHints(),
    tabs: browserTabs(),
  };
}

/** Returns a platform with some features replaced. Members are copied explicitly, because a spread would lose methods of a class. */
export function platformWith(given: Partial<Platform>): Platform {
  const own = defaultPlatform();
  return {
    nowMs: () => (given.nowMs === undefined ? own.nowMs() : given.nowMs()),
    randomBytes: (count) => (given.randomBytes === undefined ? own.randomBytes(count) : given.randomBytes(count)),
    after: (ms, callback) => (given.after === undefined ? own.after(ms, callback) : given.after(ms, callback)),
    fetch: (url, init) => (given.fetch === undefined ? own.fetch(url, init) : given.fetch(url, init)),
    network: given.network === undefined ? own.network : given.network,
    tabs: given.tabs === undefined ? own.tabs : given.tabs,
    sha256: () => given.sha256?.() ?? null,
  };
}

function afterTime(delayMs: number, callback: () => void): () => void {
  const timer = setTimeout(callback, delayMs);
  return () => clearTimeout(timer);
}

interface TaskChannel {
  readonly port1: { onmessage: (() => void) | null; close(): void };
  readonly port2: { postMessage(message: unknown): void };
}

/**
 * Browsers delay timers that follow each other by 4 ms, and those of a hidden tab by a second. They do not delay messages, so
 * that a tab in the background sends its state to a new one as fast as any other. React Native has no channels.
 */
function nextTask(callback: () => void): () => void {
  const { MessageChannel } = globalThis as unknown as { readonly MessageChannel?: new () => TaskChannel };
  if (MessageChannel === undefined) return afterTime(0, callback);
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    callback();
  };
  port2.postMessage(null);
  return () => port1.close();
}

function randomBytes(count: number): Uint8Array {
  const { crypto } = globalThis;
  if (crypto === undefined) {
    throw clientError('store_failed', 'this platform has no crypto.getRandomValues: pass `platform.randomBytes`');
  }
  return crypto.getRandomValues(new Uint8Array(count));
}

/** Of the Network Information API, which Chromium has. */
interface BrowserConnection {
  readonly saveData?: boolean;
  readonly type?: string;
  addEventListener?(type: 'change', listener: () => void): void;
  removeEventListener?(type: 'change', listener: () => void): void;
}

interface BrowserWindow {
  readonly navigator?: { readonly onLine?: boolean; readonly connection?: BrowserConnection };
  readonly location?: { readonly origin?: string };
  addEventListener?(type: string, listener: () => void): void;
  removeEventListener?(type: string, listener: () => void): void;
}

/** Browsers report changes of the network; Node.js does not, and React Native needs a library for it. */
function browserHints(): NetworkHints | null {
  const window = globalThis as unknown as BrowserWindow;
  if (typeof window.navigator?.onLine !== 'boolean' || window.addEventListener === undefined) return null;
  const { connection } = window.navigator;
  return {
    pageOrigin: window.location?.origin,
    isOnline: () => window.navigator?.onLine !== false,
    isMetered: () => connection?.saveData === true || connection?.type === 'cellular',
    onChange: (listener) => {
      connection?.addEventListener?.('change', listener);
      for (const type of ['online', 'offline']) window.addEventListener?.(type, listener);
      return () => {
        connection?.removeEventListener?.('change', listener);
        for (const type of ['online', 'offline']) window.removeEventListener?.(type, listener);
      };
    },
  };
}

interface BrowserChannel {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  postMessage(message: unknown): void;
  close(): void;
}

interface BrowserLocks {
  request(
    name: string,
    options: { readonly steal?: boolean; readonly signal?: AbortSignal },
    callback: () => Promise<void>,
  ): Promise<void>;
}

interface BrowserWithTabs {
  readonly BroadcastChannel?: new (name: string) => BrowserChannel;
  readonly navigator?: { readonly locks?: BrowserLocks };
}

function browserTabs(): TabFeatures | null {
  const { BroadcastChannel, navigator } = globalThis as unknown as BrowserWithTabs;
  if (BroadcastChannel === undefined) return null;
  return {
    openChannel: (name, onMessage) => {
      const channel = new BroadcastChannel(name);
      channel.onmessage = ({ data }) => onMessage(data);
      return { post: (message) => channel.postMessage(message), close: () => channel.close() };
    },
    requestLock: navigator?.locks === undefined ? null : lockRequester(navigator.locks),
  };
}

function lockRequester(locks: BrowserLocks): RequestLock {
  return (name, { onHeld, onLost }, isStolen) => {
    const controller = new AbortController();
    let isReleased = false;
    let release = () => controller.abort();
    const hold = () =>
      new Promise<void>((resolve) => {
        release = resolve;
        // The lock may be granted after the request was withdrawn.
        if (isReleased) resolve();
        else onHeld();
      });
    locks.request(name, isStolen ? { steal: true } : { signal: controller.signal }, hold).catch(() => {
      if (!isReleased) onLost();
    });
    return () => {
      isReleased = true;
      release();
    };
  };
}
