import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** The last line of a worker that failed. */
export interface FailedLine {
  readonly say: 'failed';
  readonly reason: string;
}

/**
 * Runs this process as a worker: it reads its options from the command line, and reports by lines of JSON on its standard
 * output. An error is reported as the last line. A watchdog kills a worker that lives longer than `lifeMs`.
 */
export async function runAsWorker<Options>(lifeMs: number, work: (options: Options) => Promise<void>): Promise<void> {
  startWatchdog(lifeMs);
  try {
    await work(JSON.parse(process.argv[2] ?? '') as Options);
  } catch (error) {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    writeLine({ say: 'failed', reason } satisfies FailedLine);
    process.exit(1);
  }
}

const STDOUT = 1;
const RETRY_MS = 1;
/** A reader that takes nothing for so long is gone. */
const WAIT_MS_MAX = 600_000;

/** Returns when the line has left this process: no signal can take it back any more. */
export function writeLine(line: object): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
  let waitedMs = 0;
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(STDOUT, bytes, at);
    } catch (error) {
      // The reader is slow and the pipe is full: nothing of this piece was written.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || waitedMs >= WAIT_MS_MAX) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      waitedMs += RETRY_MS;
    }
  }
}

/** Kills this process when it lives too long, even if its main thread is blocked and nobody waits for it any more. */
function startWatchdog(lifeMs: number): void {
  const kill = `setTimeout(() => process.kill(process.pid, 'SIGKILL'), ${lifeMs})`;
  new Worker(kill, { eval: true }).unref();
}
