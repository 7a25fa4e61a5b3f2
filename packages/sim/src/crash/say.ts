import { writeSync } from 'node:fs';

const STDOUT = 1;
const LOOK_AGAIN_MS = 1;
/** A reader that takes nothing for so long is gone. */
const PATIENCE_MS = 600_000;

/** Returns when the line is out of this process: from then on no signal can take it back. */
export function say(line: object): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
  let waitedMs = 0;
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(STDOUT, bytes, at);
    } catch (error) {
      // The reader is slow, and what is between us is full: nothing of this piece is out.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || waitedMs >= PATIENCE_MS) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_AGAIN_MS);
      waitedMs += LOOK_AGAIN_MS;
    }
  }
}
