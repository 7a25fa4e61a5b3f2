import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@tidemark/testing/kit';

/** The servers of others, which are no dependencies of this repository. */
const PEERS = fileURLToPath(new URL('../../peers/', import.meta.url));

/** Installs the other servers at their pinned versions, unless they are there. */
export async function installPeers(): Promise<void> {
  const wanted = JSON.parse(readFileSync(join(PEERS, 'package.json'), 'utf8')) as { dependencies: object };
  const isThere = (name: string, version: string) =>
    existsSync(join(PEERS, 'node_modules', name)) && versionOf(name) === version;
  if (Object.entries(wanted.dependencies).every(([name, version]) => isThere(name, version as string))) return;
  process.stderr.write('Installing the other servers (200 MB)\n');
  const args = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts'];
  const child = spawn('npm', args, { cwd: PEERS, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`npm install in ${PEERS} ended with ${code}`);
}

export function versionOf(name: string): string {
  const file = join(PEERS, 'node_modules', name, 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version;
}

export interface PeerProcess {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts one of the scripts in bench/peers with a data folder of its own. */
export async function startPeer(script: string): Promise<PeerProcess> {
  const folder = await temporaryFolder();
  mkdirSync(folder.path, { recursive: true });
  const child = spawn(process.execPath, [join(PEERS, script), folder.path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${script} did not start`);
  const stop = async () => {
    const exited = once(child, 'exit');
    if (child.exitCode === null && child.kill('SIGKILL')) await exited;
    await folder.remove();
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const [, port] = /^ready (\d+)$/.exec(line) ?? [];
    if (port === undefined) continue;
    child.stdout.resume();
    return { url: `http://127.0.0.1:${port}`, pid, stop };
  }
  await stop();
  throw new Error(`${script} ended before it was ready`);
}

/** CPU time of all threads of a process until now. Linux counts it in nanoseconds. */
export function cpuMsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = threads.map((thread) => Number(readThread(pid, thread).split(' ')[0]));
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e6;
}

/** A thread may end between the listing and the reading. */
function readThread(pid: number, thread: string): string {
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8');
  } catch {
    return '0';
  }
}

/** Resident memory. */
export function memoryMbOf(pid: number): number {
  return memoryBytesOf(pid) / 2 ** 20;
}

export function memoryBytesOf(pid: number): number {
  return statusBytes(pid, 'VmRSS');
}

/** The most that was ever resident. */
export function peakBytesOf(pid: number): number {
  return statusBytes(pid, 'VmHWM');
}

function statusBytes(pid: number, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kilobytes] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status) ?? [];
  return Number(kilobytes) * 1_024;
}
