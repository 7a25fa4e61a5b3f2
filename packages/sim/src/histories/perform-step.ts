import { partitionText } from '../model/partition.ts';
import { checkDelivery } from './check-delivery.ts';
import { performConcurrent } from './perform-concurrent.ts';
import { deliver, performPull, serve } from './perform-pull.ts';
import { recreateUser, resetStore } from './perform-recreation.ts';
import { checkRefused } from './perform-refusal.ts';
import { pullTogether } from './perform-together.ts';
import { performBadWrite, performWrite } from './perform-write.ts';
import { beginQuery } from './resolve-write.ts';
import type { Step, TokenDamage } from './step.ts';
import type { SimulatedDevice, World } from './world.ts';

/** Backups per device; a new one replaces the oldest. */
const COPIES_MAX = 4;

export async function performStep(world: World, step: Step): Promise<void> {
  switch (step.kind) {
    case 'write':
      return performWrite(world, step.write);
    case 'concurrent':
      return performConcurrent(world, step);
    case 'bad_write':
      return performBadWrite(world, step.write);
    case 'begin_query':
      return world.addQuery(await beginQuery(world, step.partition));
    case 'recreate_user':
      return recreateUser(world, step);
    case 'reset_store':
      return resetStore(world, step);
    case 'trim':
      return trimByTidemarks(world, step);
    case 'force_trim':
      return forceTrim(world, step);
    case 'outdate_tidemarks':
      return outdateTidemarks(world, step);
    case 'keep_state':
      if (await world.server.keepState()) world.keepStates();
      return;
    case 'fall_back':
      if (await world.server.fallBack()) world.fallBack();
      return;
    case 'pull_together':
      return pullTogether(world, step);
    case 'time_passes':
      world.clock.nowMs += step.ms;
      return;
    default:
      return performAtDevice(world, world.device(step.device), step);
  }
}

async function trimByTidemarks(
  world: World,
  { partition, retentionMs }: Extract<Step, { kind: 'trim' }>,
): Promise<void> {
  await world.server.trim(partition, retentionMs);
  world.forgetStatus(partition);
  world.tokens.putUnseenAtRisk(partition, world.clock.nowMs, retentionMs);
}

/** Receipts and verdicts are compared at once: the next pulls bring tidemarks of the right epoch. */
async function outdateTidemarks(
  world: World,
  { partition }: Extract<Step, { kind: 'outdate_tidemarks' }>,
): Promise<void> {
  world.tokens.outdate(partition, await world.server.outdateTidemarks(partition));
  await checkDelivery(world);
}

async function forceTrim(world: World, { partition, part }: Extract<Step, { kind: 'force_trim' }>): Promise<void> {
  const { head } = await world.status(partition);
  await world.server.forceTrim(partition, Math.floor(part * head));
  world.forgetStatus(partition);
  world.tokens.putAllAtRisk(partition);
}

async function performAtDevice(
  world: World,
  device: SimulatedDevice,
  step: Extract<Step, { device: number }>,
): Promise<void> {
  const { model, network, copies } = device;
  switch (step.kind) {
    case 'pull':
      return performPull(world, device, step.sizes);
    case 'send':
      return network.send({ token: model.token, size: step.size }, step.delivery);
    case 'serve': {
      const request = network.nextRequest(step.pick);
      if (request !== undefined) network.answer(await serve(world, device, request), step.delivery);
      return;
    }
    case 'deliver': {
      const answer = network.nextAnswer(step.pick);
      if (answer !== undefined) deliver(world, device, answer);
      return;
    }
    case 'forget_device':
      return forgetDevice(world, device);
    case 'reinstall':
      return model.reinstall();
    case 'start_over':
      return model.startOver();
    case 'keep_copy':
      copies.push(model.copy());
      copies.splice(0, copies.length - COPIES_MAX);
      return;
    case 'restore_copy': {
      const copy = copies[step.pick % Math.max(1, copies.length)];
      if (copy !== undefined) model.restore(copy);
      return;
    }
    case 'clone':
      return clone(device, world.device(step.from));
    case 'damage_token':
      return model.setToken(damaged(world, device, step.damage));
  }
}

/** The server deletes and registers a device again; the device itself does not notice. */
async function forgetDevice(world: World, device: SimulatedDevice): Promise<void> {
  const { spec } = device;
  await world.server.deleteClient(spec.user, spec.client);
  await checkRefused(world, device);
  await world.server.registerClient(spec.user, spec.client);
  for (const other of world.devices) {
    if (other.spec.client === spec.client) world.tokens.forgetClient(other.partition, spec.client);
  }
}

/** Restores a device from the backup of another one that syncs the same data. */
function clone(device: SimulatedDevice, from: SimulatedDevice): void {
  if (partitionText(device.partition) === partitionText(from.partition)) device.model.restore(from.model.copy());
}

function damaged(world: World, { model, partition }: SimulatedDevice, damage: TokenDamage): string {
  const token = model.token ?? '';
  switch (damage.kind) {
    case 'flip': {
      const at = damage.at % Math.max(1, token.length);
      return `${token.slice(0, at)}${token.charAt(at) === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
    }
    case 'cut':
      return token.slice(0, damage.at % Math.max(1, token.length));
    case 'extend':
      return token + damage.text;
    case 'garbage':
      return damage.text;
    case 'foreign': {
      const tokens = world.tokens.foreign(partition);
      return tokens[damage.pick % Math.max(1, tokens.length)] ?? 'no foreign token';
    }
  }
}
