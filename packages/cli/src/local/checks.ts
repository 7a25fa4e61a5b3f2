import { closeSync, constants, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { access, readFile, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { styleText } from 'node:util';
import { isOpenToOthers } from '@tidemark/server/config/read-secret-file';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { entriesOf, markOf } from './data-folder.ts';
import { processesUsing } from './folder-processes.ts';
import { ownershipOf, permissionFailure, runningAs, strangersIn, userName } from './ownership.ts';

export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly detail: string;
}

const NODE_MAJOR_MIN = 20;
const FREE_BYTES_FAIL = 64 * 2 ** 20;
const FREE_BYTES_WARN = 2 ** 30;
const FLUSHES = 5;
const SLOW_FLUSH_MS = 100;

/** File systems (by their Linux number) on which a flush does not guarantee durability. */
const DOUBTFUL_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x01021994, 'in memory, and gone with the machine'],
  [0x858458f6, 'in memory, and gone with the machine'],
  [0x6969, 'on NFS, where neither locks nor flushes can be relied on'],
  [0xff534d42, 'on a Windows share, where neither locks nor flushes can be relied on'],
  [0xfe534d42, 'on a Windows share, where neither locks nor flushes can be relied on'],
]);

export function checkNode(version = process.versions.node): Check {
  const isNew = Number.parseInt(version, 10) >= NODE_MAJOR_MIN;
  const detail = isNew ? `Node.js ${version}` : `Node.js ${version} is too old; ${NODE_MAJOR_MIN} or newer is needed`;
  return { name: 'node', status: isNew ? 'ok' : 'failed', detail };
}

export async function checkFolder(folder: string): Promise<Check> {
  try {
    return await lookAtFolder(folder);
  } catch (error) {
    const denied = permissionFailure(error, folder);
    if (denied === null) throw error;
    return { name: 'data', status: 'failed', detail: denied.message };
  }
}

/** Compares the owner of the data with the current user. */
export function checkOwner(folder: string): readonly Check[] {
  const uid = runningAs();
  if (uid === null || existing(folder) !== folder) return [];
  const name = 'owner';
  const owner = statSync(folder).uid;
  const whose = `${folder} belongs to ${userName(owner)}`;
  const strangers = strangersIn(folder);
  if (strangers.length > 0) {
    const detail = `${whose}, but in it do not: ${strangers.join(', ')}; run chown -R ${userName(owner)} on it`;
    return [{ name, status: 'warning', detail }];
  }
  const isOther = uid !== owner;
  const detail = isOther
    ? `${whose}; run the server as that user, not as ${userName(uid)}`
    : `${whose}, as this process`;
  return [{ name, status: isOther ? 'warning' : 'ok', detail }];
}

async function lookAtFolder(folder: string): Promise<Check> {
  const name = 'data';
  if (statSync(folder, { throwIfNoEntry: false })?.isFile() === true) {
    return { name, status: 'failed', detail: `${folder} is a file, not a folder` };
  }
  const there = existing(folder);
  if (!(await isWritable(there))) {
    return { name, status: 'failed', detail: `${folder} cannot be written to: ${ownershipOf(there)}` };
  }
  if (there !== folder || entriesOf(folder).length === 0) {
    return { name, status: 'ok', detail: `${folder} holds nothing yet; the first start makes it` };
  }
  const mark = markOf(folder);
  if (mark === null) return { name, status: 'failed', detail: `${folder} holds something that is not Tidemark's` };
  if (isOpenToOthers(statSync(folder).mode)) {
    return { name, status: 'warning', detail: `${folder} is open to everybody on this machine; run chmod o-rwx on it` };
  }
  return { name, status: 'ok', detail: `${folder}, engine ${mark.engine}, format ${mark.format}, ${mark.state}` };
}

export async function checkDisk(folder: string): Promise<Check> {
  const { bavail, bsize } = await statfs(existing(folder));
  const free = bavail * bsize;
  const status = free < FREE_BYTES_FAIL ? 'failed' : free < FREE_BYTES_WARN ? 'warning' : 'ok';
  return { name: 'disk', status, detail: `${(free / 1e9).toFixed(1)} GB free` };
}

/** Measures how long a flush to disk takes, and whether the file system guarantees it. */
export async function checkDurability(folder: string): Promise<Check> {
  const name = 'durability';
  const there = existing(folder);
  const doubt = DOUBTFUL_FILE_SYSTEMS.get((await statfs(there)).type);
  if (doubt !== undefined) return { name, status: 'warning', detail: `${folder} is ${doubt}` };
  const flushMs = measureFlush(there);
  const detail = `writes are flushed before they are acknowledged; a flush takes ${flushMs.toFixed(1)} ms`;
  return { name, status: flushMs > SLOW_FLUSH_MS ? 'warning' : 'ok', detail };
}

export async function checkOccupants(folder: string): Promise<Check> {
  const name = 'processes';
  if (markOf(folder) === null) return { name, status: 'ok', detail: 'nobody uses the data folder' };
  const occupants = await processesUsing(folder);
  if (occupants === null) return { name, status: 'ok', detail: 'this system does not tell who uses the data folder' };
  const detail = occupants.length === 0 ? 'nobody uses the data folder' : `process ${occupants.join(', ')} uses it`;
  return { name, status: 'ok', detail };
}

const SOMAXCONN_FILE = '/proc/sys/net/core/somaxconn';
const NETSTAT_FILE = '/proc/net/netstat';

/**
 * Compares how many connections may wait until a server accepts them with what the system allows, and tells how many it
 * has dropped. Returns nothing on systems that do not tell.
 */
export async function checkListenQueue(backlog: number, read = readSystemFile): Promise<readonly Check[]> {
  const somaxconn = Number(await read(SOMAXCONN_FILE));
  if (!Number.isSafeInteger(somaxconn) || somaxconn < 1) return [];
  const name = 'connections';
  const waiting = `${Math.min(backlog, somaxconn)} may wait to be accepted`;
  if (somaxconn < backlog) {
    const detail = `${waiting}, because net.core.somaxconn is ${somaxconn}; run sysctl -w net.core.somaxconn=${backlog}`;
    return [{ name, status: 'warning', detail }];
  }
  const dropped = listenDropsIn((await read(NETSTAT_FILE)) ?? '');
  if (dropped === 0) return [{ name, status: 'ok', detail: waiting }];
  const detail = `${waiting}; servers on this machine have missed ${dropped} since it started: raise listen_backlog and net.core.somaxconn if that number grows`;
  return [{ name, status: 'warning', detail }];
}

/** Reads the counter of connections that no queue had a place for. A line of names is followed by one of values. */
function listenDropsIn(netstat: string): number {
  const [names = '', values = ''] = netstat.split('\n').filter((line) => line.startsWith('TcpExt:'));
  const column = names.split(' ').indexOf('ListenDrops');
  return column < 0 ? 0 : Number(values.split(' ')[column] ?? 0);
}

function readSystemFile(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(() => null);
}

/** Returns the nearest parent that exists. */
function existing(folder: string): string {
  const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder || dirname(folder) === folder ? folder : existing(dirname(folder));
}

async function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Returns the median of several measurements, in milliseconds. */
function measureFlush(folder: string): number {
  const file = join(folder, `.tidemark-doctor-${process.pid}`);
  const handle = openSync(file, 'w', 0o600);
  try {
    const times = Array.from({ length: FLUSHES }, () => {
      const started = performance.now();
      writeSync(handle, 'x');
      fsyncSync(handle);
      return performance.now() - started;
    });
    return times.sort((a, b) => a - b)[Math.floor(FLUSHES / 2)] ?? 0;
  } finally {
    closeSync(handle);
    rmSync(file);
  }
}

const COLOURS = { ok: 'green', warning: 'yellow', failed: 'red' } as const;

/** Prints the checks, and fails the command with exit code 1 if one of them failed. */
export function printChecks(cli: Cli, command: Command, checks: readonly Check[]): void {
  const print = cli.printer(command);
  const hasColour = cli.terminal.hasColour && cli.terminal.isRead;
  if (print.isJson) print.json(checks);
  else for (const check of checks) cli.terminal.out(`${lineOf(check, hasColour)}\n`);
  const failed = checks.filter(({ status }) => status === 'failed');
  if (failed.length > 0) throw new CliFailure(`${failed.length} of ${checks.length} checks failed`);
}

function lineOf({ name, status, detail }: Check, hasColour: boolean): string {
  const mark = status.padEnd('warning'.length);
  return `${hasColour ? styleText(COLOURS[status], mark) : mark}  ${name}: ${detail}`;
}
