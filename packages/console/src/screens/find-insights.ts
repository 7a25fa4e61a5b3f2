import type { JobQueue, ListedFile, Receipt, SettingInForce, Source } from '@tidemark/protocol';
import type { Readiness } from '../api/readiness.ts';
import { counted } from '../components/counted.ts';
import { isOld } from '../components/file-facts.ts';

/** A problem with what to do about it. */
interface Insight {
  readonly title: string;
  readonly remedy: string;
  /** The screen where something can be done about it. */
  readonly to: string;
  /** What is shown there; absent: what is shown first. */
  readonly search?: object;
  readonly at: string;
}

export interface Known {
  readonly ready: Readiness | undefined;
  readonly queues: readonly JobQueue[] | undefined;
  readonly receipts: readonly Receipt[];
  readonly sources: readonly Source[] | undefined;
  /** The names of sources that were queried; undefined: not known yet. */
  readonly queried: ReadonlySet<string> | undefined;
  /** Sources whose last refresh failed, with the reason. */
  readonly failing: readonly { readonly source: string; readonly detail: string }[];
  /** Files that have not arrived, those that are missing longest first. */
  readonly missingFiles: readonly ListedFile[];
  /** Undefined: not known yet, or not for this session. */
  readonly settings: readonly SettingInForce[] | undefined;
}

/** A free disk below this is told before the server stops being ready. */
const LOW_DISK_GB = 1;
/** A source that was declared just now has not been queried yet. */
const YOUNG_MS = 600_000;

const CONNECTOR_FAULTS: Readonly<Record<string, string>> = {
  behind: 'is behind',
  silent: 'is silent',
  not_connected: 'is not connected',
  slot_lost: 'has lost its replication slot',
  slot_in_danger: 'will soon lose its replication slot',
  rows_refused: 'has rows that cannot be stored',
};

const SYSTEM = { to: '/system', at: 'System' };
const JOBS = { to: '/jobs', at: 'Jobs' };

/** Returns what an operator should look at. */
export function findInsights(known: Known, nowMs: number): readonly Insight[] {
  return [
    ...checkInsights(known),
    ...settingInsights(known),
    ...backendInsights(known, nowMs),
    ...connectorInsights(known),
    ...jobInsights(known),
    ...deviceInsights(known, nowMs),
    ...fileInsights(known, nowMs),
  ];
}

function settingInsights({ settings = [] }: Known): readonly Insight[] {
  return settings.flatMap(({ name, warning }) =>
    warning === null ? [] : [{ title: `The setting “${name}” is risky`, remedy: `${warning}.`, ...SYSTEM }],
  );
}

function checkInsights({ ready }: Known): readonly Insight[] {
  const { checks = [] } = ready ?? {};
  const freeGb = Number(/^([0-9.]+) GB free$/.exec(checks.find(({ name }) => name === 'disk')?.detail ?? '')?.[1]);
  return [
    ...checks
      .filter(({ ok }) => !ok)
      .map(({ name, detail }) => ({ title: `The check “${name}” fails`, remedy: detail, ...SYSTEM })),
    ...checks
      .filter(({ name }) => name === 'warning')
      .map(({ detail }) => ({ title: 'The server warns', remedy: detail, ...SYSTEM })),
    ...(freeGb < LOW_DISK_GB
      ? [
          {
            title: 'The disk is nearly full',
            remedy: `${freeGb} GB are free. Delete old backups, move them to another disk by backup_folder, or give the server more space.`,
            ...SYSTEM,
          },
        ]
      : []),
  ];
}

function backendInsights({ ready, sources = [], queried, failing }: Known, nowMs: number): readonly Insight[] {
  const { backend } = ready ?? {};
  const isOpen = backend?.state === 'open' || backend?.state === 'trying';
  const never = sources.filter(
    ({ name, adapter, created_at }) =>
      adapter !== 'none' &&
      queried?.has(name) === false &&
      failing.every(({ source }) => source !== name) &&
      nowMs - Date.parse(created_at) > YOUNG_MS,
  );
  return [
    ...(isOpen
      ? [
          {
            title: 'The backend does not answer',
            remedy: `${counted(backend.failures, 'call')} in a row failed. “Check the backend” tells why.`,
            to: '/backend',
            at: 'Backend',
          },
        ]
      : []),
    ...failing.map(({ source, detail }) => ({
      title: `The last refresh of “${source}” failed`,
      remedy: `Reason: ${detail}. The last failures have the words of the backend.`,
      to: '/backend',
      at: 'Backend',
    })),
    ...never.map(({ name }) => ({
      title: `The source “${name}” was never refreshed`,
      remedy: 'No query of the backend for it is on record. Check the backend, then refresh the source.',
      to: '/backend',
      at: 'Backend',
    })),
  ];
}

function connectorInsights({ ready }: Known): readonly Insight[] {
  const { connectors = [] } = ready ?? {};
  return connectors.flatMap(({ name, faults }) =>
    faults.map(({ code, message }) => ({
      title: `The connector “${name}” ${CONNECTOR_FAULTS[code] ?? 'has a fault'}`,
      remedy: `${message.charAt(0).toUpperCase()}${message.slice(1)}.`,
      to: '/connectors',
      at: 'Connectors',
    })),
  );
}

function jobInsights({ queues = [] }: Known): readonly Insight[] {
  const dead = queues.reduce((sum, { counts }) => sum + counts.dead, 0);
  return [
    ...(dead > 0
      ? [
          {
            title: counted(dead, 'dead job'),
            remedy: 'All attempts failed. Read the reason, then retry or remove.',
            ...JOBS,
          },
        ]
      : []),
    ...queues
      .filter(({ paused }) => paused)
      .map(({ queue }) => ({
        title: `The queue “${queue}” is paused`,
        remedy: 'Its jobs wait until somebody resumes it.',
        ...JOBS,
      })),
  ];
}

function deviceInsights({ receipts }: Known, nowMs: number): readonly Insight[] {
  const isLate = ({ oldest_behind_at: at }: Receipt) => at !== null && isOld(at, nowMs);
  return receipts.filter(isLate).map(({ source, behind }) => ({
    title: `${counted(behind, 'device')} ${behind === 1 ? 'is' : 'are'} behind in “${source}”`,
    remedy: 'At least one has not synced for a day. Ping those that are behind.',
    to: '/pings',
    at: 'Pings',
  }));
}

function fileInsights({ missingFiles }: Known, nowMs: number): readonly Insight[] {
  const [oldest] = missingFiles.filter(({ missing_since: at }) => at !== null && isOld(at, nowMs));
  if (oldest === undefined) return [];
  const [device] = oldest.devices;
  const who = device === undefined ? 'Nobody has sent it' : `A device of “${device.user_id}” has it`;
  return [
    {
      title: 'Files have not arrived for more than a day',
      remedy: `The oldest is “${oldest.name ?? oldest.sha256}”. ${who}; its user has to open the app with a network.`,
      to: '/files',
      search: { show: 'missing' },
      at: 'Files',
    },
  ];
}
