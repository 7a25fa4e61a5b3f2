import { Refusal } from '@tidemark/protocol';
import type { ModelPartition } from '../model/partition.ts';
import { partitionText } from '../model/partition.ts';
import type { Write } from '../model/write.ts';
import { Violation } from '../runner/violation.ts';
import { PARTITIONS, USERS } from './partitions.ts';
import { explaining } from './perform-concurrent.ts';
import { checkOldGeneration, checkRefused, pullAndDiscard } from './perform-refusal.ts';
import { tryWrite, type WriteOutcome } from './perform-write.ts';
import { type ResolvedWrite, resolveWrite } from './resolve-write.ts';
import { possibleBeginnings } from './serialize-writes.ts';
import type { PlannedWrite, Step } from './step.ts';
import type { World } from './world.ts';

/**
 * Deletes a user and creates it again while writes for that user are running. A racing write may come before the
 * deletion, be refused, or end up in the new generation, where it must find nothing of the old one.
 */
export async function recreateUser(world: World, step: Extract<Step, { kind: 'recreate_user' }>): Promise<void> {
  const racing = await resolveAll(world, step.racing);
  const first = (await resolveAll(world, step.first)).map(({ write }) => write);
  const { user, registersLater = false } = step;
  const recreation = async () => {
    await world.server.deleteUser(user);
    await world.server.createUser(user);
    if (!registersLater) await world.registerDevices(user);
    for (const write of first) await world.server.write(write);
  };
  const [outcomes, , pages] = await Promise.all([
    writeAll(world, racing),
    recreation(),
    pullAndDiscard(world, step.pulls, ({ spec }) => (spec.user === user ? ['client_not_found'] : [])),
  ]);
  for (const partition of PARTITIONS.filter(({ user }) => user === step.user)) {
    world.beginGeneration(partition);
    await explainBeginning(world, partition, first, lateWrites(racing, outcomes));
  }
  // The user's devices are deleted too, also from partitions with shared data.
  const devices = world.devices.filter(({ spec }) => spec.user === user);
  for (const { spec, partition } of devices) world.tokens.forgetClient(partition, spec.client);
  if (!registersLater) return;
  for (const device of devices) await checkRefused(world, device);
  await world.registerDevices(user);
  await checkOldGeneration(
    world,
    pages.filter(({ device }) => device.partition.user === user),
  );
}

/** Empties the store. Users are created afterwards, so no racing write can end up in the new generation. */
export async function resetStore(world: World, step: Extract<Step, { kind: 'reset_store' }>): Promise<void> {
  const racing = await resolveAll(world, step.racing);
  const refusals = ['client_not_found', 'source_not_found'] as const;
  await Promise.all([world.server.reset(), writeAll(world, racing), pullAndDiscard(world, step.pulls, () => refusals)]);
  for (const device of world.devices) await checkRefused(world, device);
  for (const user of USERS) await world.createUser(user);
  for (const partition of PARTITIONS) world.beginGeneration(partition);
}

async function resolveAll(world: World, planned: readonly PlannedWrite[]): Promise<ResolvedWrite[]> {
  const resolved: ResolvedWrite[] = [];
  for (const write of planned) resolved.push(await resolveWrite(world, write));
  return resolved;
}

function writeAll(world: World, writes: readonly ResolvedWrite[]): Promise<WriteOutcome[]> {
  return Promise.all(writes.map(({ write }) => tryWrite(world, write)));
}

function lateWrites(racing: readonly ResolvedWrite[], outcomes: readonly WriteOutcome[]): Write[] {
  return racing.filter((_, index) => !(outcomes[index] instanceof Refusal)).map(({ write }) => write);
}

async function explainBeginning(
  world: World,
  partition: ModelPartition,
  first: readonly Write[],
  late: readonly Write[],
): Promise<void> {
  const here = (writes: readonly Write[]) =>
    writes.filter((write) => partitionText(write.partition) === partitionText(partition));
  const beginnings = possibleBeginnings(world.oracle.state(partition), here(first), here(late));
  const [chosen, ...others] = await explaining(world, partition, beginnings);
  if (chosen === undefined) {
    const writes = JSON.stringify({ first: here(first), late: here(late) });
    throw new Violation(
      'SIM-1',
      `${partitionText(partition)} begins its new generation with data of the old one, after ${writes}`,
    );
  }
  world.oracle.advance(partition, chosen.slice(1));
  world.oracle.rememberPossible(partition, others.flat());
  if (others.length > 0) world.dropQueries(partition);
}
