import type { Platform } from '../ports/platform.ts';

/** Resolves in another task of the thread, so that the app can do its work between two steps. */
export function nextTask(platform: Platform): Promise<void> {
  return new Promise((resolve) => platform.after(0, resolve));
}
