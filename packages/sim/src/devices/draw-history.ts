import { Dice, seededRandom } from '@tidemark/testing/kit';
import { type History, placeOf, SOURCES, type Step, USERS } from './step.ts';

const DEVICE_USERS = ['ada', 'ada', 'bob'] as const;
const BACKEND_IDS_MAX = 12;

/** How often each kind of step comes, in parts of their sum. */
const WEIGHTS: readonly (readonly [Step['kind'], number])[] = [
  ['backend_put', 14],
  ['backend_delete', 5],
  ['create', 12],
  ['update', 12],
  ['delete', 4],
  ['touch', 8],
  ['sync', 18],
  ['offline', 4],
  ['online', 6],
  ['kill_device', 6],
  ['kill_server', 2],
  ['let_go', 9],
];

export function drawHistory(seed: number, stepsMax: number): History {
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
  const place = placeOf(source, dice.pick(USERS));
  const ids = Array.from({ length: dice.between(1, 6) }, () => dice.below(BACKEND_IDS_MAX));
  const kind = drawKind(dice);
  switch (kind) {
    case 'backend_put':
      return { kind, place, ids, value: index };
    case 'backend_delete':
      return { kind, place, ids };
    case 'create':
      return { kind, device, source };
    case 'update':
    case 'delete':
    case 'touch':
      return { kind, device, source, pick };
    case 'sync':
    case 'offline':
    case 'online':
      return { kind, device };
    case 'kill_device':
      return { kind, device, during: dice.chance(50) };
    case 'kill_server':
      return { kind };
    case 'let_go':
      return { kind, turns: dice.between(1, 20) };
  }
}

function drawKind(dice: Dice): Step['kind'] {
  let left = dice.below(WEIGHTS.reduce((sum, [, weight]) => sum + weight, 0));
  for (const [kind, weight] of WEIGHTS) {
    left -= weight;
    if (left < 0) return kind;
  }
  throw new Error('the weights do not add up');
}
