import { Rng, seededRandom } from '@tidemark/testing/kit';
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
  const rng = new Rng(seededRandom(seed));
  const length = rng.between(STEPS_MIN, STEPS_MAX);
  const drawn = Array.from({ length }, () =>
    rng.chance(SCENE_CHANCE) ? refusedThenApplied(rng) : [drawStep(rng, rng.weighted(WEIGHTS))],
  );
  const steps: Step[] = drawn.flat();
  const isWide = rng.chance(WIDE_CHANCE);
  if (isWide) {
    // At the end, because every pull after it is slow.
    steps.splice(-3, 0, { kind: 'join_many', user: 'ada' }, drawFailures(rng, MANY_GROUPS));
  }
  return {
    seed,
    steps,
    usesSets: DEVICE_USERS.map(() => rng.chance(75)),
    objectsMax: isWide ? LARGE_PAGE : rng.pick([1, 2, 3, LARGE_PAGE]),
  };
}

function drawStep(rng: Rng, kind: Step['kind']): Step {
  const device = rng.below(DEVICE_USERS.length);
  switch (kind) {
    case 'put':
    case 'delete':
    case 'join':
    case 'leave':
    case 'replace_user':
    case 'wipe':
      return drawChange(rng, kind);
    case 'move': {
      const move = drawMove(rng);
      return { ...move, meanwhile: rng.chance(50) ? duringMove(rng, move) : null };
    }
    case 'push':
      return drawPush(rng, device);
    case 'pull': {
      const times = rng.pick([0, 1, 1, 2]);
      return { kind, device, objectsMax: rng.between(1, 4), times, meanwhile: drawMeanwhile(rng) };
    }
    case 'sync_once':
      return { kind, device, confirms: rng.chance(60) };
    case 'acknowledge':
    case 'explain':
      return { kind, device };
    case 'join_many':
      return { kind, user: rng.pick(USERS) };
    case 'backend_put':
      return { kind, group: rng.pick(GROUPS), id: rng.pick(IDS) };
    case 'backend_fails':
      return drawFailures(rng, GROUPS);
  }
}

function drawFailures(rng: Rng, groups: readonly string[]): Step {
  const count = rng.pick([0, 1, Math.floor((groups.length * 5) / 6)]);
  return { kind: 'backend_fails', groups: groups.slice(0, count) };
}

function drawChange(rng: Rng, kind: Change['kind']): Change {
  const group = rng.pick(GROUPS);
  const source = rng.pick(PUSHED_SOURCES);
  switch (kind) {
    case 'put':
      return { kind, source, group, id: rng.pick(IDS), name: rng.pick(['x', 'y']) };
    case 'delete':
      return { kind, source, group, id: rng.pick(IDS) };
    case 'move':
      return drawMove(rng);
    case 'join':
    case 'leave':
      return { kind, user: rng.pick(USERS), group };
    case 'replace_user':
      return { kind, user: rng.pick(USERS) };
    case 'wipe':
      return { kind, device: rng.below(DEVICE_USERS.length) };
  }
}

function drawMove(rng: Rng): Extract<Change, { kind: 'move' }> {
  const group = rng.pick(GROUPS);
  const to = rng.pick(GROUPS.filter((other) => other !== group));
  const ids = IDS.filter(() => rng.chance(50));
  return { kind: 'move', source: rng.pick(PUSHED_SOURCES), group, to, ids: ids.length === 0 ? [IDS[0]] : ids };
}

/** Another write to the objects that are moved. */
function duringMove(rng: Rng, { source, group, to, ids }: Extract<Change, { kind: 'move' }>): Meanwhile {
  const place = { source, group: rng.pick([group, group, to]), id: rng.pick(ids) };
  const change: Change = rng.chance(50)
    ? { kind: 'delete', ...place }
    : rng.chance(50)
      ? { kind: 'put', ...place, name: rng.pick(['x', 'y']) }
      : { kind: 'move', source, group, to: rng.pick(GROUPS.filter((other) => other !== group)), ids: [place.id] };
  return { at: rng.pick(['commit', 'readObjects']), skips: rng.below(2), changes: [change] };
}

function drawMeanwhile(rng: Rng): Meanwhile | null {
  if (!rng.chance(25)) return null;
  const kind = rng.weighted<Change['kind']>([
    ['put', 4],
    ['delete', 2],
    ['move', 2],
    ['join', 2],
    ['leave', 3],
    ['replace_user', 1],
    ['wipe', 1],
  ]);
  return { at: rng.pick(MOMENTS), skips: rng.below(SKIPS_MAX), changes: [drawChange(rng, kind)] };
}

function drawPush(rng: Rng, device: number): PushStep {
  const source = rng.pick(PUSHED_SOURCES);
  const push = {
    ...({ kind: 'push', device, source, group: rng.pick(GROUPS), id: rng.pick(IDS) } as const),
    // A backend may accept an object that is there already.
    op: rng.pick(['update', 'update', 'delete', ...(source === 'Visit' ? (['create'] as const) : [])] as const),
    isAccepted: rng.chance(60),
  };
  return { ...push, meanwhile: rng.chance(50) ? duringPush(rng, push) : null };
}

/** An upload is refused because the object exists, and the next one to it is applied. */
function refusedThenApplied(rng: Rng): readonly Step[] {
  const device = rng.below(DEVICE_USERS.length);
  const place = { source: 'Visit', group: rng.pick(GROUPS), id: rng.pick(IDS) } as const;
  const push = { kind: 'push', device, ...place, isAccepted: true, meanwhile: null } as const;
  return [
    { kind: 'put', ...place, name: 'x' },
    { ...push, op: 'create' },
    { ...push, op: 'update' },
    { kind: 'explain', device },
  ];
}

/** The user loses the right to see the object, and then it changes. */
function duringPush(rng: Rng, { device, source, group, id }: Omit<PushStep, 'meanwhile'>): Meanwhile {
  const user = DEVICE_USERS[device] ?? USERS[0];
  const loss = rng.pick<Change>([
    { kind: 'leave', user, group },
    { kind: 'leave', user, group },
    { kind: 'wipe', device },
    { kind: 'replace_user', user },
  ]);
  const changes: readonly Change[] = [loss, { kind: 'put', source, group, id, name: rng.pick(['x', 'y']) }];
  return { at: rng.pick(['commit', 'backend', 'readObjects']), skips: rng.below(2), changes };
}
