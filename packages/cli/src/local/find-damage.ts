import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Finding } from '@tidemark/core';
import { inspectRecord } from '@tidemark/core/verify';
import { parseJson } from '@tidemark/protocol';
import type { Config } from '@tidemark/server/config/config';
import { CliFailure } from '../cli-failure.ts';
import { withStore } from './with-store.ts';

interface Line {
  readonly finding?: Finding;
  readonly failure?: string;
  /** What the user can do about the failure. */
  readonly hint?: string;
  readonly isDone?: true;
}

/**
 * Recomputes a store from its records, and gives every difference. An embedded store is read by a process of its own: when
 * its file is damaged so badly that reading it ends the process, that is a finding, too.
 */
export async function findDamage(config: Config, folder: string): Promise<readonly Finding[]> {
  return config.store === 'embedded' ? inOwnProcess(folder) : here(config, folder);
}

function here(config: Config, folder: string): Promise<readonly Finding[]> {
  return withStore(config, folder, async (store) => {
    const findings: Finding[] = [];
    for await (const finding of store.verify(inspectRecord)) findings.push(finding);
    return findings;
  });
}

async function inOwnProcess(folder: string): Promise<readonly Finding[]> {
  // `src` and `dist` lie side by side, so this path works from both.
  const program = fileURLToPath(new URL('../../dist/local/verify-process.js', import.meta.url));
  const child = spawn(process.execPath, [program, folder], { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const findings: Finding[] = [];
  let isDone = false;
  for await (const text of createInterface({ input: child.stdout })) {
    const line = parseJson(text) as Line;
    const { failure, hint } = line;
    if (failure !== undefined) throw new CliFailure(failure, hint === undefined ? {} : { hint });
    if (line.finding !== undefined) findings.push(line.finding);
    isDone ||= line.isDone === true;
  }
  const how = await ended;
  if (!isDone) findings.push(crash(how));
  return findings;
}

function crash(how: string): Finding {
  const detail = `the file cannot be read to its end: the process that read it ended with ${how}; restore a backup`;
  return { partition: null, problem: 'unreadable', detail };
}
