import { demand } from '../runner/violation.ts';
import { objectsDifference, type PartitionOf, partitionsOf } from './difference.ts';
import type { HistoryRun } from './history-run.ts';
import { type Expected, memberName, partitionName } from './oracle.ts';
import type { PullingDevice } from './pulling-device.ts';
import { WHOLE } from './pulling-device.ts';
import { SOURCES, type SourceName } from './step.ts';

/** A device holds no group in which its user never was, and no row where SQL never had it. */
export function checkExposure(run: HistoryRun, device: PullingDevice): void {
  for (const source of [SOURCES.notes, SOURCES.orders, SOURCES.lines]) {
    for (const [owner, { objects }] of device.held.get(run.own(source)) ?? []) {
      const whose = owner === WHOLE ? device.login : owner;
      demand(
        owner === WHOLE || run.ledger.wasMember(memberName(device.login, owner)),
        'PGSIM-4',
        () => `${device.login} holds data of ${owner}, and was never a member of it`,
      );
      for (const id of objects.keys()) {
        demand(
          run.ledger.wasIn(partitionName(source, whose), id),
          'PGSIM-4',
          () => `${device.login} holds the row ${id} of ${source} as one of ${whose}, to whom it never belonged`,
        );
      }
    }
  }
}

/** Every device holds exactly what SQL says. */
export async function checkDevices(run: HistoryRun): Promise<void> {
  const expected = await run.oracle.expected(run.mapping);
  for (const index of run.deviceIndexes) {
    const device = await run.pull(index);
    checkExposure(run, device);
    for (const partition of partitionsOf(run)) checkPartition(run, device, partition, expected);
  }
}

function checkPartition(
  run: HistoryRun,
  device: PullingDevice,
  { source, owner, whose }: PartitionOf,
  { partitions, members }: Expected,
): void {
  const isOfUser = whose !== null && 'user' in whose;
  if (isOfUser && whose.user !== device.login) return;
  const isMine = whose === null || isOfUser || (members.get(device.login) ?? []).includes(owner);
  const wanted = isMine ? partitions.get(partitionName(source, owner)) : undefined;
  const found = heldOf(run, device, source, whose === null || isOfUser ? WHOLE : owner);
  const text = objectsDifference(wanted ?? new Map(), found);
  demand(text === null, 'PGSIM-3', () => `${device.login} holds ${source} of ${owner} otherwise than SQL: ${text}`);
}

function heldOf(
  run: HistoryRun,
  device: PullingDevice,
  source: SourceName,
  owner: string,
): ReadonlyMap<string, unknown> {
  return device.held.get(run.own(source))?.get(owner)?.objects ?? new Map();
}
