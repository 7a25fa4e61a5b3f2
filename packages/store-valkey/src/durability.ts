import { CLOCK_SKEW_MS_MAX } from '@tidemark/protocol';
import type { Confirmation } from './confirmed-writes.ts';
import type { Connection } from './connection.ts';
import { listOf, textListOf, textOf } from './wire.ts';

/** The settings of one server. Null: it did not tell. */
export interface ServerSetup {
  readonly version: string | null;
  readonly isInCluster: boolean;
  readonly appendOnly: boolean | null;
  readonly appendFsync: string | null;
  readonly replicas: number | null;
  readonly minReplicasToWrite: number | null;
  readonly memoryBytesMax: number | null;
  readonly evictionPolicy: string | null;
  /** Its clock. */
  readonly timeMs: number | null;
  /** True: it has the command WAITAOF, which waits until a write is on the disk. */
  readonly hasWaitAof: boolean;
}

/** How durable the store is on all its servers. */
export interface Durability {
  readonly isDurable: boolean;
  readonly details: Readonly<Record<string, string | number | boolean>>;
  /** What an operator should know. */
  readonly warnings: readonly string[];
}

/** The first version that has flags for scripts, and ZMSCORE. */
const MAJOR_MIN = 7;
const SETTINGS = ['appendonly', 'appendfsync', 'min-replicas-to-write', 'maxmemory', 'maxmemory-policy'] as const;

/** Asks every primary. A server that refuses to show its settings counts as not durable. */
export async function readSetups(connection: Connection): Promise<readonly ServerSetup[]> {
  const infos = await connection.everywhere('INFO');
  const settings = await connection.everywhere('CONFIG', 'GET', ...SETTINGS).catch(() => infos.map(() => null));
  const commands = await connection.everywhere('COMMAND', 'INFO', 'WAITAOF').catch(() => infos.map(() => null));
  return infos.map((info, index) => {
    const reply = settings[index] ?? null;
    const known = reply === null ? null : textListOf(reply);
    const command = commands[index] ?? null;
    return setupOf(textOf(info), known, command !== null && listOf(command)[0] !== null);
  });
}

function setupOf(info: string, settings: readonly string[] | null, hasWaitAof: boolean): ServerSetup {
  const known = new Map<string, string>();
  for (let index = 0; settings !== null && index < settings.length; index += 2) {
    known.set(settings[index] ?? '', settings[index + 1] ?? '');
  }
  const appendOnly = known.get('appendonly') ?? fieldOf(info, 'aof_enabled');
  return {
    version: fieldOf(info, 'valkey_version') ?? fieldOf(info, 'redis_version'),
    isInCluster: fieldOf(info, 'cluster_enabled') === '1',
    appendOnly: appendOnly === null ? null : appendOnly === 'yes' || appendOnly === '1',
    appendFsync: known.get('appendfsync') ?? null,
    replicas: numberIn(fieldOf(info, 'connected_slaves')),
    minReplicasToWrite: numberIn(known.get('min-replicas-to-write') ?? null),
    memoryBytesMax: numberIn(known.get('maxmemory') ?? fieldOf(info, 'maxmemory')),
    evictionPolicy: known.get('maxmemory-policy') ?? fieldOf(info, 'maxmemory_policy'),
    timeMs: timeIn(fieldOf(info, 'server_time_usec')),
    hasWaitAof,
  };
}

function fieldOf(info: string, name: string): string | null {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? null;
}

function timeIn(text: string | null): number | null {
  const us = numberIn(text);
  return us === null ? null : Math.floor(us / 1_000);
}

function numberIn(text: string | null): number | null {
  return text === null || !/^\d+$/.test(text) ? null : Number(text);
}

/** Returns why these servers cannot hold a store; null when they can. */
export function unusableReason(
  setups: readonly ServerSetup[],
  { isClusterAddress, isConfirmedOnDisk }: { readonly isClusterAddress: boolean; readonly isConfirmedOnDisk: boolean },
): string | null {
  const old = setups.find(({ version }) => version !== null && Number.parseInt(version, 10) < MAJOR_MIN);
  if (old !== undefined) return `it has version ${old.version}, and ${MAJOR_MIN}.0 or newer is needed`;
  if (!isClusterAddress && setups.some(({ isInCluster }) => isInCluster)) {
    return 'it is part of a cluster: say so in the address, as in valkey+cluster://host:6379';
  }
  return isConfirmedOnDisk ? diskProblem(setups) : null;
}

function diskProblem(setups: readonly ServerSetup[]): string | null {
  const old = setups.find(({ hasWaitAof }) => !hasWaitAof);
  if (old !== undefined) {
    return `valkey.confirm_on_disk needs WAITAOF, which version ${old.version ?? 'unknown'} does not have: Valkey 8 or Redis 7.2 is needed`;
  }
  if (setups.every(({ appendOnly }) => appendOnly === true)) return null;
  return 'valkey.confirm_on_disk needs the append-only file (appendonly yes)';
}

/** Durable: a write is on the disk of every primary before it is acknowledged, and no data is evicted. */
export function assessDurability(setups: readonly ServerSetup[], { replicas, isOnDisk }: Confirmation): Durability {
  const isFlushed =
    isOnDisk || setups.every(({ appendOnly, appendFsync }) => appendOnly === true && appendFsync === 'always');
  const isConfirmed = replicas > 0;
  const canEvict = setups.some(({ evictionPolicy }) => evictionPolicy !== 'noeviction');
  return {
    isDurable: isFlushed && !canEvict,
    details: { ...detailsOf(setups), confirm_replicas: replicas, confirm_on_disk: isOnDisk },
    warnings: [
      ...(isFlushed ? [] : [lossWarning(setups, isConfirmed)]),
      ...(canEvict ? [evictionWarning(setups)] : []),
      ...(setups.some(({ memoryBytesMax }) => memoryBytesMax === 0)
        ? ['maxmemory is not set: when memory runs out the system may end the server instead of writes being refused']
        : []),
      ...clockWarnings(setups),
    ],
  };
}

function clockWarnings(setups: readonly ServerSetup[]): readonly string[] {
  const times = setups.flatMap(({ timeMs }) => timeMs ?? []);
  const apartMs = times.length === 0 ? 0 : Math.max(...times) - Math.min(...times);
  if (apartMs <= CLOCK_SKEW_MS_MAX) return [];
  const apartS = Math.round(apartMs / 1_000);
  return [
    `the clocks of the servers are ${apartS} seconds apart: writes may take twice as many steps; set them by NTP`,
  ];
}

function lossWarning(setups: readonly ServerSetup[], isConfirmed: boolean): string {
  const replicas = isConfirmed ? ', though replicas confirm each write' : '';
  if (setups.some(({ appendOnly }) => appendOnly !== true)) {
    return `the append-only file is off (appendonly no): a restart loses acknowledged writes${replicas}`;
  }
  if (setups.every(({ appendFsync }) => appendFsync === null)) {
    return `the server does not say how it flushes (CONFIG GET is refused): acknowledged writes may be lost${replicas}`;
  }
  return `writes are acknowledged before they are flushed (appendfsync is not always): a crash can lose the last second${replicas}`;
}

function evictionWarning(setups: readonly ServerSetup[]): string {
  const policies = [...new Set(setups.map(({ evictionPolicy }) => evictionPolicy ?? 'unknown'))].join(', ');
  return `maxmemory-policy is ${policies}: the server may drop data when memory is short; set noeviction`;
}

/** Shows one value if all primaries agree, otherwise all values. */
function detailsOf(setups: readonly ServerSetup[]): Durability['details'] {
  const valuesOf = (name: keyof ServerSetup) =>
    [...new Set(setups.map((setup) => String(setup[name] ?? 'unknown')))].join(', ');
  return {
    servers: setups.length,
    version: valuesOf('version'),
    appendonly: valuesOf('appendOnly'),
    appendfsync: valuesOf('appendFsync'),
    replicas: valuesOf('replicas'),
    min_replicas_to_write: valuesOf('minReplicasToWrite'),
    maxmemory: valuesOf('memoryBytesMax'),
    maxmemory_policy: valuesOf('evictionPolicy'),
  };
}
