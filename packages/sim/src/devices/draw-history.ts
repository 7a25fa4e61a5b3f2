import { Dice, seededRandom } from '@tidemark/testing/kit';
import { type DeviceHistory, partitionOf, SOURCES, type Step, USERS } from './step.ts';

const DEVICE_USERS = ['ada', 'ada', 'bob'] as const;
const BACKEND_IDS_MAX = 12;

/** How often each kind of step is drawn. */
const WEIGHTS: readonly (readonly [Step['kind'], number])[] = [
  ['backend_put', 14],
  ['backend_delete', 5],
  ['create', 12],
  ['update', 12],
  ['delete', 4],
  ['update_shared', 8],
  ['sync', 18],
  ['offline', 4],
  ['online', 6],
  ['kill_device', 6],
  ['kill_server', 2],
  ['wait', 9],
];

export function drawHistory(seed: number, stepsMax: number): DeviceHistory {
  const dice = new Dice(seededRandom(seed));
  const steps = Array.from({ length: dice.between(Math.ceil(stepsMax / 2), stepsMax) }, (_, index) =>
    drawStep(dice, index),
  );
  return { seed, users: DEVICE_USERS, pageObjects: dice.pick([1, 2, 3, 5, 8]), steps };
}

function drawStep(dice: Dice, index: number): Step {
  const device = dice.below(DEVICE_USERS.length);
  const source = dice.pick(SOURCES);
  const pick = dice.below(1_000);
  const partition = partitionOf(source, dice.pick(USERS));
  const ids = Array.from({ length: dice.between(1, 6) }, () => dice.below(BACKEND_IDS_MAX));
  const kind = dice.weighted(WEIGHTS);
  switch (kind) {
    case 'backend_put':
      return { kind, partition, ids, value: index };
    case 'backend_delete':
      return { kind, partition, ids };
    case 'create':
      return { kind, device, source };
    case 'update':
    case 'delete':
    case 'update_shared':
      return { kind, device, source, pick };
    case 'sync':
    case 'offline':
    case 'online':
      return { kind, device };
    case 'kill_device':
      return { kind, device, during: dice.chance(50) };
    case 'kill_server':
      return { kind };
    case 'wait':
      return { kind, turns: dice.between(1, 20) };
  }
}
