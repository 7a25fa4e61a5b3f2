import { clientError } from './client-error.ts';
import type { NetworkHints, Platform } from './ports/platform.ts';

/** The features that browsers, Node.js and React Native have in common. No other file uses globals of the platform. */
export function defaultPlatform(): Platform {
  return {
    nowMs: () => Date.now(),
    randomBytes,
    after: (delayMs, callback) => {
      const timer = setTimeout(callback, delayMs);
      return () => clearTimeout(timer);
    },
    fetch: (url, init) => globalThis.fetch(url, init),
    network: browserHints(),
  };
}

function randomBytes(count: number): Uint8Array {
  const { crypto } = globalThis;
  if (crypto === undefined) {
    throw clientError('store_failed', 'this platform has no crypto.getRandomValues: pass `platform.randomBytes`');
  }
  return crypto.getRandomValues(new Uint8Array(count));
}

interface BrowserWindow {
  readonly navigator?: { readonly onLine?: boolean };
  addEventListener?(type: string, listener: () => void): void;
  removeEventListener?(type: string, listener: () => void): void;
}

/** Browsers report changes of the network; Node.js does not, and React Native needs a library for it. */
function browserHints(): NetworkHints | null {
  const window = globalThis as unknown as BrowserWindow;
  if (typeof window.navigator?.onLine !== 'boolean' || window.addEventListener === undefined) return null;
  return {
    isOnline: () => window.navigator?.onLine !== false,
    onChange: (listener) => {
      for (const type of ['online', 'offline']) window.addEventListener?.(type, listener);
      return () => {
        for (const type of ['online', 'offline']) window.removeEventListener?.(type, listener);
      };
    },
  };
}
