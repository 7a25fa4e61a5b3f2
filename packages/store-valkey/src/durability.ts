import { CLOCK_SKEW_MS_MAX } from '@tidemark/protocol';
import type { Confirmation } from './confirming.ts';
import type { Link } from './link.ts';
import { listOf, textOf } from './reply.ts';

/** What one server is set up to keep. Null where it would not say. */
export interface ServerSetup {
  readonly version: string | null;
  readonly isInCluster: boolean;
  readonly appendOnly: boolean | null;
  readonly appendFsync: string | null;
  readonly replicas: number | null;
  readonly minReplicasToWrite: number | null;
  readonly memoryBytesMax: number | null;
  readonly evictionPolicy: string | null;
  /** What time it is there. */
  readonly timeMs: number | null;
  /** Whether it can say that a write is on the disk. */
  readonly hasWaitAof: boolean;
}

/** What the store as a whole keeps, and what an operator should know about it. */
export interface Durability {
  readonly isDurable: boolean;
  readonly details: Readonly<Record<string, string | number | boolean>>;
  readonly warnings: readonly string[];
}

/** Scripts with flags, and commands that look up many members at once. */
const MAJOR_MIN = 7;
const SETTINGS = ['appendonly', 'appendfsync', 'min-replicas-to-write', 'maxmemory', 'maxmemory-policy'] as const;

/** Asks every primary. A server that does not let its settings be read is taken to keep nothing. */
export async function readSetups(link: Link): Promise<readonly ServerSetup[]> {
  const infos = await link.everywhere('INFO');
  const settings = await link.everywhere('CONFIG', 'GET', ...SETTINGS).catch(() => infos.map(() => null));
  const commands = await link.everywhere('COMMAND', 'INFO', 'WAITAOF').catch(() => infos.map(() => null));
  return infos.map((info, index) => {
    const reply = settings[index] ?? null;
    const known = reply === null ? null : listOf(reply).map((text) => textOf(text));
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

/** Why a store cannot live on these servers; null when it can. */
export function unfitness(
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
  const deaf = setups.find(({ hasWaitAof }) => !hasWaitAof);
  if (deaf !== undefined) {
    return `valkey.confirm_on_disk needs WAITAOF, which version ${deaf.version ?? 'unknown'} does not have: Valkey 8 or Redis 7.2 is needed`;
  }
  if (setups.every(({ appendOnly }) => appendOnly === true)) return null;
  return 'valkey.confirm_on_disk needs the append-only file (appendonly yes)';
}

/** Durable means here: on the disk of every primary, or confirmed by replicas, before a write is acknowledged. */
export function judge(setups: readonly ServerSetup[], { replicas, isOnDisk }: Confirmation): Durability {
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

/** One value where all primaries agree, all of them otherwise. */
function detailsOf(setups: readonly ServerSetup[]): Durability['details'] {
  const together = (name: keyof ServerSetup) =>
    [...new Set(setups.map((setup) => String(setup[name] ?? 'unknown')))].join(', ');
  return {
    servers: setups.length,
    version: together('version'),
    appendonly: together('appendOnly'),
    appendfsync: together('appendFsync'),
    replicas: together('replicas'),
    min_replicas_to_write: together('minReplicasToWrite'),
    maxmemory: together('memoryBytesMax'),
    maxmemory_policy: together('evictionPolicy'),
  };
}
