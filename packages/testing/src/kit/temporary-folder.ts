import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TemporaryFolder {
  readonly path: string;
  /** Removes the folder with everything in it; may be called twice. Fits `onTestFinished`. */
  readonly remove: () => Promise<void>;
}

/** A new, empty folder that belongs to the caller. */
export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), 'tidemark-test-'));
  // Killed programs may still be writing: a browser has child processes.
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }) };
}
