import { Rng, seededRandom } from '@tidemark/testing/kit';
import { withVersions } from './draw-versions.ts';
import {
  DEVICE_USERS,
  GROUPS,
  MOVED_IDS,
  type SdkHistory,
  SHARED_IDS,
  type Step,
  TABBED_DEVICE,
  TABS,
  USERS,
  WRITTEN_SOURCES,
} from './step.ts';

const STEPS_MIN = 15;
const STEPS_MAX = 40;
/** In percent: how often a user joins many groups. */
const WIDE_CHANCE = 5;

/** In percent: how often sources get new versions of their schemas. */
const VERSIONS_CHANCE = 60;
/** Steps of versions are drawn by themselves, so that the other steps of a seed are what they are without them. */
const OF_VERSIONS = 1_000_000_007;

/** In percent: how often steps that belong together are drawn, and how often one of them is left out. */
const SCENE_CHANCE = 6;
const OMISSION_CHANCE = 5;

/** How often each kind of step is drawn. */
const WEIGHTS: readonly (readonly [Step['kind'], number])[] = [
  ['put', 14],
  ['remove', 3],
  ['move', 4],
  ['join', 6],
  ['leave', 4],
  ['create', 6],
  ['update', 16],
  ['create_before_sync', 3],
  ['follow', 6],
  ['sync', 14],
  ['offline', 5],
  ['online', 6],
  ['backend', 6],
  ['events', 4],
  ['run_jobs', 6],
  ['open_tab', 4],
  ['close_tab', 2],
  ['kill_tab', 2],
  ['freeze_tab', 2],
  ['thaw_tab', 3],
  ['restart', 3],
  ['sync_once', 2],
  ['wipe', 1],
  ['replace_user', 2],
  ['pass', 4],
  ['look', 8],
];

/** Every history begins with some data, and with users who are members of a group. */
const FIRST_STEPS: readonly Step[] = [
  { kind: 'join', user: 'ada', group: 'a' },
  { kind: 'join', user: 'ada', group: 'b' },
  { kind: 'join', user: 'bob', group: 'a' },
  { kind: 'put', source: 'Visit', group: 'a', id: 'u1' },
  { kind: 'put', source: 'Visit', group: 'b', id: 'u1' },
  { kind: 'put', source: 'Order', group: 'a', id: 'u1' },
];

export function drawHistory(seed: number): SdkHistory {
  const rng = new Rng(seededRandom(seed));
  const length = rng.between(STEPS_MIN, STEPS_MAX);
  const drawn = Array.from({ length }, () =>
    rng.chance(SCENE_CHANCE) ? drawScene(rng) : [drawStep(rng, rng.weighted(WEIGHTS))],
  );
  const steps: Step[] = [...FIRST_STEPS, ...drawn.flat()];
  // At the end, because every pull after it is slow.
  if (rng.chance(WIDE_CHANCE)) steps.splice(-2, 0, { kind: 'join_many', user: 'bob', failing: rng.pick([0, 20, 100]) });
  const areLive = DEVICE_USERS.map(() => rng.chance(60));
  const versions = new Rng(seededRandom(seed + OF_VERSIONS));
  const hasVersions = versions.chance(VERSIONS_CHANCE);
  return { seed, steps: hasVersions ? withVersions(versions, steps) : steps, areLive, hasVersions };
}

/** Steps that seldom follow each other by chance. */
function drawScene(rng: Rng): readonly Step[] {
  const of = { device: rng.below(DEVICE_USERS.length), tab: rng.below(TABS) };
  const scene = rng.chance(50) ? writeToTwoGroups(rng, of) : hearOfOutcomeLate(rng, of);
  return scene.filter(() => !rng.chance(OMISSION_CHANCE));
}

type OfDevice = { readonly device: number; readonly tab: number };

/** Without a network, an object is changed in one group and then in another. */
function writeToTwoGroups(rng: Rng, of: OfDevice): readonly Step[] {
  const source = rng.pick(['Visit', 'Task'] as const);
  const id = rng.pick(SHARED_IDS);
  const [first, second] = rng.shuffle(GROUPS);
  const update: Step = { kind: 'update', ...of, source, pick: rng.below(1_000) };
  return [
    ...[first, second].map((group = 'a'): Step => ({ kind: 'put', source, group, id })),
    { kind: 'follow', ...of, source, groups: null },
    { kind: 'sync', ...of },
    { kind: 'offline', ...of },
    update,
    { kind: 'follow', ...of, source, groups: [second ?? 'b'] },
    update,
    { kind: 'online', ...of },
  ];
}

/** The backend takes a change later, and the object changes again after the device has heard of that. */
function hearOfOutcomeLate(rng: Rng, of: OfDevice): readonly Step[] {
  const put: Step = { kind: 'put', source: 'Order', group: 'a', id: 'u1' };
  return [
    put,
    { kind: 'sync', ...of },
    { kind: 'backend', isDown: true },
    { kind: 'update', ...of, source: 'Order', pick: 0 },
    { kind: 'sync', ...of },
    { kind: 'backend', isDown: false },
    { kind: 'events', havePages: rng.chance(30) },
    { kind: 'run_jobs' },
    { kind: 'pass', ms: 1_000 },
    { kind: 'events', havePages: true },
    put,
    { kind: 'look' },
  ];
}

function drawStep(rng: Rng, kind: Step['kind']): Step {
  const of = { device: rng.below(DEVICE_USERS.length), tab: rng.below(TABS) };
  const user = rng.pick(USERS);
  const group = rng.pick(GROUPS);
  const source = rng.pick(WRITTEN_SOURCES);
  switch (kind) {
    case 'put':
      return { kind, source, group, id: rng.pick([...SHARED_IDS, ...MOVED_IDS]) };
    case 'remove':
      return { kind, source, group, id: rng.pick(MOVED_IDS) };
    case 'move': {
      const to = rng.pick(GROUPS.filter((other) => other !== group));
      return { kind, source: rng.pick(['Visit', 'Task']), group, to, id: rng.pick(MOVED_IDS) };
    }
    case 'join':
    case 'leave':
      return { kind, user, group };
    case 'join_many':
      return { kind, user, failing: 0 };
    case 'create':
    case 'update':
      return { kind, ...of, source, pick: rng.below(1_000) };
    case 'create_before_sync':
      return { kind, device: rng.between(TABBED_DEVICE + 1, DEVICE_USERS.length - 1), source };
    case 'follow': {
      const groups = rng.chance(25) ? null : GROUPS.filter(() => rng.chance(60));
      return { kind, ...of, source: rng.pick(['Visit', 'Task']), groups };
    }
    case 'sync':
    case 'offline':
    case 'online':
      return { kind, ...of };
    case 'backend':
      return { kind, isDown: rng.chance(50) };
    case 'events':
      return { kind, havePages: rng.chance(60) };
    case 'open_tab':
    case 'close_tab':
    case 'kill_tab':
    case 'freeze_tab':
    case 'thaw_tab':
      return { kind, tab: of.tab };
    case 'restart':
      return { kind, device: of.device, isKilled: rng.chance(50) };
    case 'sync_once':
    case 'replace_user':
      return { kind, user };
    case 'wipe':
      return { kind, device: of.device };
    case 'pass':
      return { kind, ms: rng.pick([1_000, 30_000, 120_000]) };
    case 'version':
    case 'convert':
    case 'update_app':
    case 'clear':
      throw new Error(`steps "${kind}" are drawn by themselves`);
    case 'run_jobs':
    case 'look':
      return { kind };
  }
}
