import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

const WAIT = { timeout: 120_000, interval: 50 };

it.each(['SIGINT', 'SIGTERM'] as const)(
  '[PGSIM-10] a simulation that %s ends leaves no process running',
  async (signal) => {
    const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
    const child = spawn(process.execPath, [cli, 'postgres', '--seed', '1'], { stdio: 'ignore' });
    onTestFinished(() => void child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    await expect.poll(async () => (await serversOf(child.pid ?? 0)).length, WAIT).toBe(2);
    const servers = await serversOf(child.pid ?? 0);
    child.kill(signal);
    await exited;
    await expect.poll(() => servers.filter(isRunning), WAIT).toEqual([]);
  },
);

/** The server of Postgres and the one of Tidemark that a simulation has started. */
async function serversOf(pid: number): Promise<readonly number[]> {
  const ps = spawn('ps', ['-A', '-o', 'pid=,ppid=,args='], { stdio: ['ignore', 'pipe', 'ignore'] });
  const text = (await ps.stdout.setEncoding('utf8').toArray()).join('');
  const lines = text.split('\n').filter((line) => / -D .*wal_level|main\.js serve /.test(line));
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([child = 0, parent]) => (parent === pid ? [child] : []));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
