import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConnectorView, FileTotals, Jobs, Tidemark } from '@tidemark/core';
import { lastGauge, readQueues, readSeen } from './gauges.ts';
import type { Metrics } from './metrics.ts';
import type { ConnectorGauges, FileGauges } from './watched-gauges.ts';

/** The unit in which `stat` counts the space of a file. */
const DISK_BLOCK_BYTES = 512;
const BREAKER_STATES = { closed: 0, trying: 1, open: 2 } as const;

interface BackendBreakers {
  readonly isSet: boolean;
  readonly kinds: Readonly<Record<string, { readonly state: keyof typeof BREAKER_STATES }>>;
}

/** What the metrics read when they are scraped, or are told of. */
export interface WatchedParts {
  readonly events: { readonly size: number };
  readonly activity: { readonly size: number };
  readonly tidemark: Tidemark;
  readonly jobs: Jobs;
  readonly backend: { health(): Promise<BackendBreakers> };
  /** The folder of the embedded store; null: the store is another. */
  readonly dataFolder: string | null;
}

export function watchServer(metrics: Metrics, parts: WatchedParts): void {
  const { events, activity, tidemark, jobs, backend, dataFolder } = parts;
  metrics.watch.activityStreams(() => activity.size);
  metrics.watch.listeners(() => events.size);
  const watch = (name: string, help: string) =>
    metrics.watch.installation(`tidemark_${name}`, help, () => lastGauge(tidemark.store, name));
  watch('users', 'Users of the installation');
  watch('clients', 'Devices of the installation, listening or not');
  watch('listeners', 'Devices that listen for events, at all servers');
  if (dataFolder === null)
    watch('valkey_memory_bytes', 'Memory that the primaries of Valkey use, for all that they hold; read every minute');
  else watchDisk(metrics, dataFolder);
  metrics.watch.files(async () => fileGauges(await tidemark.files.usage()));
  metrics.watch.seen(() => readSeen(tidemark.store));
  metrics.watch.staleness(() => inSeconds(tidemark.freshness.stalenessMs()));
  metrics.watch.queues(() => readQueues(jobs));
  metrics.watch.connectors(async () => (await tidemark.connectors.list()).map(connectorGauges));
  metrics.watch.breakers(async () => breakerStates(await backend.health()));
  tidemark.freshness.onDelivered((source, tookMs) => metrics.devices.delivered(source, tookMs / 1_000));
  tidemark.store.onFlushed?.((tookMs) => metrics.store.flushed(tookMs / 1_000));
  tidemark.events.on('refreshed', ({ partition: { source }, code, tookMs }) =>
    metrics.backend.refreshed(source, code, tookMs / 1_000),
  );
  tidemark.events.on('misfits', ({ source, objects }) => metrics.backend.misfitsWritten(source, objects));
  tidemark.events.on('outcome', ({ source, status }) => metrics.devices.uploaded(source, status));
}

function fileGauges({ files, bytes, missing, oldest_missing_since: since }: FileTotals): FileGauges {
  const oldestMissingS = since === null ? 0 : Math.max(0, (Date.now() - Date.parse(since)) / 1_000);
  return { files, bytes, missing, oldestMissingS };
}

/** The embedded store is a sparse file: what counts is the space it takes on the disk. */
function watchDisk(metrics: Metrics, dataFolder: string): void {
  const read = async () => (await stat(join(dataFolder, 'store.mdb'))).blocks * DISK_BLOCK_BYTES;
  metrics.watch.installation('tidemark_store_bytes', 'Space that the embedded store takes on the disk', read);
}

/** From the best to the worst. */
const SLOT_STATES: readonly (string | null)[] = ['reserved', 'extended', 'unreserved', 'lost'];

function connectorGauges({ name, lag_ms, state, faults, slot, ...rest }: ConnectorView): ConnectorGauges {
  return {
    name,
    lagS: lag_ms / 1_000,
    connected: state === 'streaming' ? 1 : 0,
    faults: faults.length,
    slotInDanger: faults.some(({ code }) => code === 'slot_lost' || code === 'slot_in_danger') ? 1 : 0,
    slotState: slotState(slot),
    positionBytes: rest.position === null ? null : positionBytes(rest.position),
    retainedBytes: slot?.retained_bytes ?? null,
    safeBytes: slot?.safe_bytes ?? null,
    rowsPerS: rest.rows_per_s,
    refusedRows: rest.problems.count,
  };
}

/** Null: the database could not be asked. */
function slotState(slot: ConnectorView['slot']): number | null {
  if (slot === null) return null;
  const state = SLOT_STATES.indexOf(slot.invalidation_reason === null ? slot.wal_status : 'lost');
  return state === -1 ? null : state;
}

/** A position of Postgres, such as 16/B374D848, is a number of 64 bits. Null: it is none. */
function positionBytes(position: string): number | null {
  const [high = Number.NaN, low = Number.NaN] = position.split('/').map((half) => Number.parseInt(half, 16));
  const bytes = high * 2 ** 32 + low;
  return Number.isFinite(bytes) ? bytes : null;
}

function inSeconds(times: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map(Array.from(times, ([name, ms]) => [name, ms / 1_000]));
}

/** Without a backend there is nothing to show. */
function breakerStates({ isSet, kinds }: BackendBreakers): ReadonlyMap<string, number> {
  return new Map(isSet ? Object.entries(kinds).map(([call, { state }]) => [call, BREAKER_STATES[state]]) : []);
}
