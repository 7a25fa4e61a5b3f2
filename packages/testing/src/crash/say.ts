import { writeSync } from 'node:fs';

const STDOUT = 1;

/** Returns when the line is out of this process: from then on no signal can take it back. */
export function say(line: object): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
  for (let at = 0; at < bytes.length; ) at += writeSync(STDOUT, bytes, at);
}
