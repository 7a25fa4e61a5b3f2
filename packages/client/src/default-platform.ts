import { clientError } from './client-error.ts';
import type { NetworkHints, Platform } from './ports/platform.ts';

/** What browsers, Node.js and React Native have in common. This is the only place that touches it. */
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
    throw clientError('store_failed', 'this platform has no crypto.getRandomValues: give `platform.randomBytes`');
  }
  return crypto.getRandomValues(new Uint8Array(count));
}

interface BrowserWindow {
  readonly navigator?: { readonly onLine?: boolean };
  addEventListener?(type: string, listener: () => void): void;
  removeEventListener?(type: string, listener: () => void): void;
}

/** Browsers say when they lose and find the network; Node.js does not, React Native leaves it to a library. */
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
