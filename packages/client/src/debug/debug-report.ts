import type { PartialError } from '@tidemark/protocol';
import type { DeviceHost } from '../engine/device-host.ts';
import type { DeviceStatus } from '../engine/status.ts';
import type { Attributes, SourceRow, UploadState } from '../state/rows.ts';
import type { CallLog, LoggedCall } from './call-log.ts';

export interface DebugOptions {
  /** True: the report has the login of the user and the objects. Default: it has none of the user's data. */
  readonly includeData?: boolean;
}

/** The state of a device, for bug tickets. It is JSON and never has a token. */
export interface DebugReport {
  readonly atMs: number;
  readonly status: Omit<DeviceStatus, 'sourceTroubles'> & {
    readonly sourceTroubles: Readonly<Record<string, PartialError>>;
  };
  readonly sources: readonly SourceReport[];
  readonly uploads: readonly UploadReport[];
  readonly problems: readonly ProblemReport[];
  /** The last calls of this tab to the server, oldest first. */
  readonly calls: readonly LoggedCall[];
  /** Only with `includeData`: the objects as the app sees them, by source. */
  readonly data?: Readonly<Record<string, Readonly<Record<string, Attributes>>>>;
}

type DebugObjects = Readonly<Record<string, Attributes>>;

export interface SourceReport extends Pick<SourceRow, 'syncedAtMs' | 'heals'> {
  readonly name: string;
  readonly partitionType: string;
  readonly syncType: string;
  readonly objects: number;
  /** False: the next pull starts over. */
  readonly hasToken: boolean;
  /** Pages of a catch-up under way. */
  readonly stagedPages: number;
}

export interface UploadReport {
  readonly opId: string;
  readonly source: string;
  readonly op: string;
  readonly state: UploadState;
  readonly madeAtMs: number;
}

export interface ProblemReport {
  readonly opId: string;
  readonly source: string;
  readonly op: string;
  readonly status: string;
  readonly code: string;
  readonly atMs: number;
}

export async function debugReport(
  host: DeviceHost,
  log: CallLog,
  { includeData = false }: DebugOptions,
): Promise<DebugReport> {
  const { replica, writes, platform, role } = host;
  const { sourceTroubles, userId, ...rest } = role.status;
  const names = host.sourceNames();
  // Sources on the disk are read, one after the other.
  const sources: SourceReport[] = [];
  for (const name of names) sources.push(...(await sourceReport(host, name)));
  const data: Record<string, DebugObjects> = {};
  if (includeData) for (const name of names) data[name] = await objectsOf(host, name);
  return {
    atMs: platform.nowMs(),
    status: { ...rest, userId: includeData ? userId : null, sourceTroubles: Object.fromEntries(sourceTroubles) },
    sources,
    uploads: writes.uploads().map(([opId, { source, op, state, madeAtMs }]) => ({ opId, source, op, state, madeAtMs })),
    problems: Array.from(
      replica.reader.entries('problems', ''),
      ([opId, { source, op, status: kind, error, atMs }]) => {
        return { opId, source, op, status: kind, code: error.code, atMs };
      },
    ),
    calls: log.calls,
    ...(includeData ? { data } : {}),
  };
}

async function sourceReport({ replica }: DeviceHost, name: string): Promise<readonly SourceReport[]> {
  const row = replica.reader.get('sources', ['', name]);
  if (row === undefined) return [];
  const { description, token, staging, syncedAtMs, heals } = row;
  const { partition_type: partitionType, sync_type: syncType } = description;
  const objects = await replica.view(name).size();
  const counts = { objects, hasToken: token !== null, stagedPages: staging?.pages ?? 0, syncedAtMs, heals };
  return [{ name, partitionType, syncType, ...counts }];
}

async function objectsOf({ replica }: DeviceHost, name: string): Promise<DebugObjects> {
  const objects = new Map<string, Attributes>();
  for await (const part of replica.view(name).parts()) {
    for (const { id, attributes } of part) objects.set(id, attributes);
  }
  return Object.fromEntries(objects);
}
