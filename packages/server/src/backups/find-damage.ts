import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Finding } from '@tidemark/core';
import { parseJson } from '@tidemark/protocol';

interface Line {
  readonly finding?: Finding;
  /** Why the folder could not be opened, as the system or the engine said it. */
  readonly failure?: { readonly name: string; readonly message: string };
  readonly isDone?: true;
}

/**
 * Recomputes an embedded store from its records in a process of its own, and yields every difference. When its file is
 * damaged so badly that reading it ends that process, that is a finding, too. Throws the error of a folder that cannot be
 * opened.
 */
export async function* findDamage(folder: string): AsyncGenerator<Finding> {
  // `src` and `dist` lie side by side, so this path works from both.
  const program = fileURLToPath(new URL('../../dist/backups/verify-process.js', import.meta.url));
  const child = spawn(process.execPath, [program, folder], { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  let isDone = false;
  try {
    for await (const text of createInterface({ input: child.stdout })) {
      const { failure, finding, isDone: isLast } = parseJson(text) as Line;
      if (failure !== undefined) throw Object.assign(new Error(failure.message), failure);
      if (finding !== undefined) yield finding;
      isDone ||= isLast === true;
    }
  } finally {
    child.kill();
  }
  const how = await ended;
  if (!isDone) yield crash(how);
}

function crash(how: string): Finding {
  const detail = `the file cannot be read to its end: the process that read it ended with ${how}; restore a backup`;
  return { partition: null, problem: 'unreadable', detail };
}
