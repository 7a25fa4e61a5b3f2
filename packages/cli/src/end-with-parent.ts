import { readFileSync } from 'node:fs';

const CHECK_MS = 1_000;

/**
 * Calls back once when the process that has started this one is gone. `npm run` puts a shell in between, which survives an
 * npm that was killed; where the system has `/proc`, the parent of that shell is watched as well. Development servers that
 * nobody can stop any more would keep their port.
 */
export function endWithParent(onGone: () => void): void {
  const first = ancestors();
  const watch = setInterval(() => {
    if (ancestors() === first) return;
    clearInterval(watch);
    onGone();
  }, CHECK_MS);
  watch.unref();
}

function ancestors(): string {
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event === undefined) return `${parent}`;
  try {
    // The name of a program may have brackets and spaces; its state and its parent follow the last bracket.
    const [, , grandparent] = (readFileSync(`/proc/${parent}/stat`, 'utf8').split(')').at(-1) ?? '').split(' ');
    return `${parent} ${grandparent}`;
  } catch {
    return `${parent}`;
  }
}
