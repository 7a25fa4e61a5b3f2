import { Dice, seededRandom } from '@tidemark/testing/kit';
import {
  type Change,
  DEVICE_USERS,
  GROUPS,
  type GroupHistory,
  IDS,
  LARGE_PAGE,
  MANY_GROUPS,
  type Meanwhile,
  MOMENTS,
  PUSHED_SOURCES,
  type PushStep,
  type Step,
  USERS,
} from './step.ts';

const STEPS_MIN = 15;
const STEPS_MAX = 50;
const SKIPS_MAX = 3;
/** In percent: how often many groups are joined, which makes a history slow. */
const WIDE_CHANCE = 4;

/** In percent: how often steps that belong together are drawn. */
const SCENE_CHANCE = 2;

/** How often each kind of step is drawn. */
const WEIGHTS: readonly (readonly [Step['kind'], number])[] = [
  ['put', 16],
  ['delete', 5],
  ['move', 8],
  ['join', 9],
  ['leave', 6],
  ['replace_user', 1],
  ['wipe', 2],
  ['push', 14],
  ['pull', 32],
  ['sync_once', 10],
  ['acknowledge', 3],
  ['backend_put', 4],
  ['backend_fails', 4],
  ['explain', 10],
];

export function drawHistory(seed: number): GroupHistory {
  const dice = new Dice(seededRandom(seed));
  const length = dice.between(STEPS_MIN, STEPS_MAX);
  const drawn = Array.from({ length }, () =>
    dice.chance(SCENE_CHANCE) ? refusedThenApplied(dice) : [drawStep(dice, dice.weighted(WEIGHTS))],
  );
  const steps: Step[] = drawn.flat();
  const isWide = dice.chance(WIDE_CHANCE);
  if (isWide) {
    // At the end, because every pull after it is slow.
    steps.splice(-3, 0, { kind: 'join_many', user: 'ada' }, drawFailures(dice, MANY_GROUPS));
  }
  return {
    seed,
    steps,
    usesSets: DEVICE_USERS.map(() => dice.chance(75)),
    objectsMax: isWide ? LARGE_PAGE : dice.pick([1, 2, 3, LARGE_PAGE]),
  };
}

function drawStep(dice: Dice, kind: Step['kind']): Step {
  const device = dice.below(DEVICE_USERS.length);
  switch (kind) {
    case 'put':
    case 'delete':
    case 'join':
    case 'leave':
    case 'replace_user':
    case 'wipe':
      return drawChange(dice, kind);
    case 'move': {
      const move = drawMove(dice);
      return { ...move, meanwhile: dice.chance(50) ? duringMove(dice, move) : null };
    }
    case 'push':
      return drawPush(dice, device);
    case 'pull': {
      const times = dice.pick([0, 1, 1, 2]);
      return { kind, device, objectsMax: dice.between(1, 4), times, meanwhile: drawMeanwhile(dice) };
    }
    case 'sync_once':
      return { kind, device, confirms: dice.chance(60) };
    case 'acknowledge':
    case 'explain':
      return { kind, device };
    case 'join_many':
      return { kind, user: dice.pick(USERS) };
    case 'backend_put':
      return { kind, group: dice.pick(GROUPS), id: dice.pick(IDS) };
    case 'backend_fails':
      return drawFailures(dice, GROUPS);
  }
}

function drawFailures(dice: Dice, groups: readonly string[]): Step {
  const count = dice.pick([0, 1, Math.floor((groups.length * 5) / 6)]);
  return { kind: 'backend_fails', groups: groups.slice(0, count) };
}

function drawChange(dice: Dice, kind: Change['kind']): Change {
  const group = dice.pick(GROUPS);
  const source = dice.pick(PUSHED_SOURCES);
  switch (kind) {
    case 'put':
      return { kind, source, group, id: dice.pick(IDS), name: dice.pick(['x', 'y']) };
    case 'delete':
      return { kind, source, group, id: dice.pick(IDS) };
    case 'move':
      return drawMove(dice);
    case 'join':
    case 'leave':
      return { kind, user: dice.pick(USERS), group };
    case 'replace_user':
      return { kind, user: dice.pick(USERS) };
    case 'wipe':
      return { kind, device: dice.below(DEVICE_USERS.length) };
  }
}

function drawMove(dice: Dice): Extract<Change, { kind: 'move' }> {
  const group = dice.pick(GROUPS);
  const to = dice.pick(GROUPS.filter((other) => other !== group));
  const ids = IDS.filter(() => dice.chance(50));
  return { kind: 'move', source: dice.pick(PUSHED_SOURCES), group, to, ids: ids.length === 0 ? [IDS[0]] : ids };
}

/** Another write to the objects that are moved. */
function duringMove(dice: Dice, { source, group, to, ids }: Extract<Change, { kind: 'move' }>): Meanwhile {
  const place = { source, group: dice.pick([group, group, to]), id: dice.pick(ids) };
  const change: Change = dice.chance(50)
    ? { kind: 'delete', ...place }
    : dice.chance(50)
      ? { kind: 'put', ...place, name: dice.pick(['x', 'y']) }
      : { kind: 'move', source, group, to: dice.pick(GROUPS.filter((other) => other !== group)), ids: [place.id] };
  return { at: dice.pick(['commit', 'readObjects']), skips: dice.below(2), changes: [change] };
}

function drawMeanwhile(dice: Dice): Meanwhile | null {
  if (!dice.chance(25)) return null;
  const kind = dice.weighted<Change['kind']>([
    ['put', 4],
    ['delete', 2],
    ['move', 2],
    ['join', 2],
    ['leave', 3],
    ['replace_user', 1],
    ['wipe', 1],
  ]);
  return { at: dice.pick(MOMENTS), skips: dice.below(SKIPS_MAX), changes: [drawChange(dice, kind)] };
}

function drawPush(dice: Dice, device: number): PushStep {
  const source = dice.pick(PUSHED_SOURCES);
  const push = {
    ...({ kind: 'push', device, source, group: dice.pick(GROUPS), id: dice.pick(IDS) } as const),
    // A backend may accept an object that is there already.
    op: dice.pick(['update', 'update', 'delete', ...(source === 'Visit' ? (['create'] as const) : [])] as const),
    isAccepted: dice.chance(60),
  };
  return { ...push, meanwhile: dice.chance(50) ? duringPush(dice, push) : null };
}

/** An upload is refused because the object exists, and the next one to it is applied. */
function refusedThenApplied(dice: Dice): readonly Step[] {
  const device = dice.below(DEVICE_USERS.length);
  const place = { source: 'Visit', group: dice.pick(GROUPS), id: dice.pick(IDS) } as const;
  const push = { kind: 'push', device, ...place, isAccepted: true, meanwhile: null } as const;
  return [
    { kind: 'put', ...place, name: 'x' },
    { ...push, op: 'create' },
    { ...push, op: 'update' },
    { kind: 'explain', device },
  ];
}

/** The user loses the right to see the object, and then it changes. */
function duringPush(dice: Dice, { device, source, group, id }: Omit<PushStep, 'meanwhile'>): Meanwhile {
  const user = DEVICE_USERS[device] ?? USERS[0];
  const loss = dice.pick<Change>([
    { kind: 'leave', user, group },
    { kind: 'leave', user, group },
    { kind: 'wipe', device },
    { kind: 'replace_user', user },
  ]);
  const changes: readonly Change[] = [loss, { kind: 'put', source, group, id, name: dice.pick(['x', 'y']) }];
  return { at: dice.pick(['commit', 'backend', 'readObjects']), skips: dice.below(2), changes };
}
