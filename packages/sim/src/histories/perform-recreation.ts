import { Refusal } from '@tidemark/protocol';
import type { ModelPartition } from '../model/partition.ts';
import { partitionText } from '../model/partition.ts';
import type { Write } from '../model/write.ts';
import { Violation } from '../runner/violation.ts';
import type { HistoryRun } from './history-run.ts';
import { PARTITIONS, USERS } from './partitions.ts';
import { explaining } from './perform-concurrent.ts';
import { checkOldGeneration, checkRefused, pullAndDiscard } from './perform-refusal.ts';
import { tryWrite, type WriteOutcome } from './perform-write.ts';
import { type ResolvedWrite, resolveWrite } from './resolve-write.ts';
import { possibleBeginnings } from './serialize-writes.ts';
import type { PlannedWrite, Step } from './step.ts';

/**
 * Deletes a user and creates it again while writes for that user are running. A racing write may come before the
 * deletion, be refused, or end up in the new generation, where it must find nothing of the old one.
 */
export async function recreateUser(run: HistoryRun, step: Extract<Step, { kind: 'recreate_user' }>): Promise<void> {
  const racing = await resolveAll(run, step.racing);
  const first = (await resolveAll(run, step.first)).map(({ write }) => write);
  const { user, registersLater = false } = step;
  const recreation = async () => {
    await run.server.deleteUser(user);
    await run.server.createUser(user);
    if (!registersLater) await run.registerDevices(user);
    for (const write of first) await run.server.write(write);
  };
  const [outcomes, , pages] = await Promise.all([
    writeAll(run, racing),
    recreation(),
    pullAndDiscard(run, step.pulls, ({ spec }) => (spec.user === user ? ['client_not_found'] : [])),
  ]);
  for (const partition of PARTITIONS.filter(({ user }) => user === step.user)) {
    run.beginGeneration(partition);
    await explainBeginning(run, partition, first, lateWrites(racing, outcomes));
  }
  // The user's devices are deleted too, also from partitions with shared data.
  const devices = run.devices.filter(({ spec }) => spec.user === user);
  for (const { spec, partition } of devices) run.tokens.forgetClient(partition, spec.client);
  if (!registersLater) return;
  for (const device of devices) await checkRefused(run, device);
  await run.registerDevices(user);
  await checkOldGeneration(
    run,
    pages.filter(({ device }) => device.partition.user === user),
  );
}

/** Empties the store. Users are created afterwards, so no racing write can end up in the new generation. */
export async function resetStore(run: HistoryRun, step: Extract<Step, { kind: 'reset_store' }>): Promise<void> {
  const racing = await resolveAll(run, step.racing);
  const refusals = ['client_not_found', 'source_not_found'] as const;
  await Promise.all([run.server.reset(), writeAll(run, racing), pullAndDiscard(run, step.pulls, () => refusals)]);
  for (const device of run.devices) await checkRefused(run, device);
  for (const user of USERS) await run.createUser(user);
  for (const partition of PARTITIONS) run.beginGeneration(partition);
}

async function resolveAll(run: HistoryRun, planned: readonly PlannedWrite[]): Promise<ResolvedWrite[]> {
  const resolved: ResolvedWrite[] = [];
  for (const write of planned) resolved.push(await resolveWrite(run, write));
  return resolved;
}

function writeAll(run: HistoryRun, writes: readonly ResolvedWrite[]): Promise<WriteOutcome[]> {
  return Promise.all(writes.map(({ write }) => tryWrite(run, write)));
}

function lateWrites(racing: readonly ResolvedWrite[], outcomes: readonly WriteOutcome[]): Write[] {
  return racing.filter((_, index) => !(outcomes[index] instanceof Refusal)).map(({ write }) => write);
}

async function explainBeginning(
  run: HistoryRun,
  partition: ModelPartition,
  first: readonly Write[],
  late: readonly Write[],
): Promise<void> {
  const here = (writes: readonly Write[]) =>
    writes.filter((write) => partitionText(write.partition) === partitionText(partition));
  const beginnings = possibleBeginnings(run.oracle.state(partition), here(first), here(late));
  const [chosen, ...others] = await explaining(run, partition, beginnings);
  if (chosen === undefined) {
    const writes = JSON.stringify({ first: here(first), late: here(late) });
    throw new Violation(
      'SIM-1',
      `${partitionText(partition)} begins its new generation with data of the old one, after ${writes}`,
    );
  }
  run.oracle.advance(partition, chosen.slice(1));
  run.oracle.rememberPossible(partition, others.flat());
  if (others.length > 0) run.dropQueries(partition);
}
