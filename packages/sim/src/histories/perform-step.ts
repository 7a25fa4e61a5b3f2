import { partitionText } from '../model/partition.ts';
import { checkDelivery } from './check-delivery.ts';
import type { HistoryRun, SimulatedDevice } from './history-run.ts';
import { performConcurrent } from './perform-concurrent.ts';
import { deliver, performPull, serve } from './perform-pull.ts';
import { recreateUser, resetStore } from './perform-recreation.ts';
import { checkRefused } from './perform-refusal.ts';
import { pullTogether } from './perform-together.ts';
import { performBadWrite, performWrite } from './perform-write.ts';
import { beginQuery } from './resolve-write.ts';
import type { Step, TokenDamage } from './step.ts';

/** Backups per device; a new one replaces the oldest. */
const COPIES_MAX = 4;

export async function performStep(run: HistoryRun, step: Step): Promise<void> {
  switch (step.kind) {
    case 'write':
      return performWrite(run, step.write);
    case 'concurrent':
      return performConcurrent(run, step);
    case 'bad_write':
      return performBadWrite(run, step.write);
    case 'begin_query':
      return run.addQuery(await beginQuery(run, step.partition));
    case 'recreate_user':
      return recreateUser(run, step);
    case 'reset_store':
      return resetStore(run, step);
    case 'trim':
      return trimByTidemarks(run, step);
    case 'force_trim':
      return forceTrim(run, step);
    case 'outdate_tidemarks':
      return outdateTidemarks(run, step);
    case 'keep_state':
      if (await run.server.keepState()) run.keepStates();
      return;
    case 'fall_back':
      if (await run.server.fallBack()) run.fallBack();
      return;
    case 'pull_together':
      return pullTogether(run, step);
    case 'time_passes':
      run.clock.nowMs += step.ms;
      return;
    default:
      return performAtDevice(run, run.device(step.device), step);
  }
}

async function trimByTidemarks(
  run: HistoryRun,
  { partition, retentionMs }: Extract<Step, { kind: 'trim' }>,
): Promise<void> {
  await run.server.trim(partition, retentionMs);
  run.forgetStatus(partition);
  run.tokens.putUnseenAtRisk(partition, run.clock.nowMs, retentionMs);
}

/** Receipts and verdicts are compared at once: the next pulls bring tidemarks of the right epoch. */
async function outdateTidemarks(
  run: HistoryRun,
  { partition }: Extract<Step, { kind: 'outdate_tidemarks' }>,
): Promise<void> {
  run.tokens.outdate(partition, await run.server.outdateTidemarks(partition));
  await checkDelivery(run);
}

async function forceTrim(run: HistoryRun, { partition, part }: Extract<Step, { kind: 'force_trim' }>): Promise<void> {
  const { head } = await run.status(partition);
  await run.server.forceTrim(partition, Math.floor(part * head));
  run.forgetStatus(partition);
  run.tokens.putAllAtRisk(partition);
}

async function performAtDevice(
  run: HistoryRun,
  device: SimulatedDevice,
  step: Extract<Step, { device: number }>,
): Promise<void> {
  const { model, network, copies } = device;
  switch (step.kind) {
    case 'pull':
      return performPull(run, device, step.sizes);
    case 'send':
      return network.send({ token: model.token, size: step.size }, step.delivery);
    case 'serve': {
      const request = network.nextRequest(step.pick);
      if (request !== undefined) network.answer(await serve(run, device, request), step.delivery);
      return;
    }
    case 'deliver': {
      const answer = network.nextAnswer(step.pick);
      if (answer !== undefined) deliver(run, device, answer);
      return;
    }
    case 'forget_device':
      return forgetDevice(run, device);
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
      return clone(device, run.device(step.from));
    case 'damage_token':
      return model.setToken(damaged(run, device, step.damage));
  }
}

/** The server deletes and registers a device again; the device itself does not notice. */
async function forgetDevice(run: HistoryRun, device: SimulatedDevice): Promise<void> {
  const { spec } = device;
  await run.server.deleteClient(spec.user, spec.client);
  await checkRefused(run, device);
  await run.server.registerClient(spec.user, spec.client);
  for (const other of run.devices) {
    if (other.spec.client === spec.client) run.tokens.forgetClient(other.partition, spec.client);
  }
}

/** Restores a device from the backup of another one that syncs the same data. */
function clone(device: SimulatedDevice, from: SimulatedDevice): void {
  if (partitionText(device.partition) === partitionText(from.partition)) device.model.restore(from.model.copy());
}

function damaged(run: HistoryRun, { model, partition }: SimulatedDevice, damage: TokenDamage): string {
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
      const tokens = run.tokens.foreign(partition);
      return tokens[damage.pick % Math.max(1, tokens.length)] ?? 'no foreign token';
    }
  }
}
