import { defaultPlatform, type Platform } from '@tidemark/client';

/** Devices of a run wait this many times shorter than real ones: seconds become tens of milliseconds. */
const SPEED_UP = 20;

/** Returns a platform for SDK devices with fast timers. It replaces `fetch` by one that gets the original. */
export function fastPlatform(
  fetch: (url: string, init: RequestInit, original: Platform['fetch']) => Promise<Response>,
): Partial<Platform> {
  const own = defaultPlatform();
  return {
    after: (ms, callback) => own.after(ms / SPEED_UP, callback),
    fetch: (url, init) => fetch(url, init, own.fetch),
    network: null,
    tabs: null,
  };
}
