/** What this package needs of its surroundings: network, clock, randomness and timers. Tests bring their own. */
export interface Platform {
  fetch(url: string, init: RequestInit): Promise<Response>;
  nowMs(): number;
  /** From 0 to 1, without 1. */
  random(): number;
  /** Runs `action` later; what it returns prevents that. */
  after(delayMs: number, action: () => void): () => void;
}

export const systemPlatform: Platform = {
  // Looked up at every call, so that tools which replace the global function are not passed by.
  fetch: (url, init) => globalThis.fetch(url, init),
  nowMs: () => Date.now(),
  random: () => Math.random(),
  after: (delayMs, action) => {
    const timer = setTimeout(action, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Waits, unless it is told to stop: then it rejects with the signal's reason. */
export function pause(platform: Platform, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = platform.after(delayMs, () => {
      signal?.removeEventListener('abort', stop);
      resolve();
    });
    signal?.addEventListener('abort', stop, { once: true });
  });
}
