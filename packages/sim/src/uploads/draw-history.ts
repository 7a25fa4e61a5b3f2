import { Dice, seededRandom } from '@tidemark/testing/kit';
import { type BackendPolicy, SOURCES, type UploadDeed, type UploadHistory, USERS, type Weather } from './step.ts';

const STEPS_MIN = 15;
const STEPS_MAX = 60;
const DEVICES_MAX = 3;
const NATURAL_KEYS = 2;
const PICKS = 1_000;
const JITTERS = 2 ** 31;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** A settled upload is remembered for a week, so the long waits of one history must stay below that. */
const LONG_WAITS_MAX = 3;

const WEIGHTS: Readonly<Record<UploadDeed['kind'], number>> = {
  edit: 40,
  push: 30,
  pull: 14,
  weather: 14,
  release: 20,
  run_jobs: 20,
  time_passes: 10,
  office_edit: 8,
  replace_user: 4,
  crash: 2,
};

const CALM: Weather = { down: 0, lost: 0, heldBefore: 0, heldAfter: 0 };
const WEATHERS: readonly Weather[] = [
  CALM,
  CALM,
  { ...CALM, down: 100 },
  { ...CALM, lost: 100 },
  { ...CALM, lost: 50 },
  { ...CALM, heldAfter: 60 },
  { ...CALM, heldBefore: 60 },
  { down: 20, lost: 20, heldBefore: 20, heldAfter: 20 },
];

/** Everything the drawing of one history has at hand. */
interface Draft {
  readonly dice: Dice;
  readonly devices: number;
  readonly kinds: readonly UploadDeed['kind'][];
  /** A few sources, so that uploads meet. */
  readonly sources: readonly number[];
  longWaits: number;
}

/** The history of a seed: always the same one. */
export function drawUploadHistory(seed: number): UploadHistory {
  const dice = new Dice(seededRandom(seed));
  const devices = Array.from({ length: dice.between(1, DEVICES_MAX) }, () => dice.pick([USERS[0], USERS[0], USERS[1]]));
  const backend: BackendPolicy = {
    ids: dice.pick(['keep', 'rename', 'mixed']),
    pushPercent: dice.pick([0, 50, 100]),
  };
  const sources = dice.shuffle([...SOURCES.keys()]).slice(0, dice.between(1, 3));
  for (const at of [...sources]) {
    const named = SOURCES.findIndex(({ name }) => name === SOURCES[at]?.refersTo);
    if (named >= 0 && !sources.includes(named)) sources.push(named);
  }
  const draft: Draft = { dice, devices: devices.length, kinds: drawKinds(dice), sources, longWaits: 0 };
  const steps = Array.from({ length: dice.between(STEPS_MIN, STEPS_MAX) }, () => {
    return { ...drawDeed(draft, dice.pick(draft.kinds)), jitter: dice.below(JITTERS) };
  });
  return { seed, devices, sources, backend, steps };
}

/** Histories that do a few things a lot find what histories that do everything a little do not. */
function drawKinds(dice: Dice): UploadDeed['kind'][] {
  const kinds = Object.keys(WEIGHTS) as UploadDeed['kind'][];
  return kinds.flatMap((kind) => {
    const factor = kind === 'edit' || kind === 'push' ? dice.pick([1, 2]) : dice.pick([0, 1, 1, 2]);
    return Array.from({ length: WEIGHTS[kind] * factor }, () => kind);
  });
}

function drawDeed(draft: Draft, kind: UploadDeed['kind']): UploadDeed {
  const { dice } = draft;
  const device = dice.below(draft.devices);
  switch (kind) {
    case 'edit':
      return drawEdit(draft, device);
    case 'push':
      return { kind, device, times: dice.pick([1, 1, 1, 2]), acknowledges: dice.chance(30) };
    case 'pull':
      return { kind, device, acknowledges: dice.chance(70) };
    case 'weather':
      return { kind, weather: dice.pick(WEATHERS) };
    case 'release':
      return { kind, pick: dice.below(PICKS), isAnswered: dice.chance(60) };
    case 'run_jobs':
      return { kind, count: dice.between(1, 3) };
    case 'time_passes':
      return { kind, ms: drawWait(draft) };
    case 'office_edit':
      return drawOfficeEdit(draft);
    case 'replace_user':
      return { kind, user: dice.below(USERS.length) };
    case 'crash':
      return { kind };
  }
}

function drawEdit({ dice, sources }: Draft, device: number): UploadDeed {
  return {
    kind: 'edit',
    device,
    op: dice.pick(['create', 'create', 'update', 'update', 'update', 'delete']),
    source: dice.pick(sources),
    pick: dice.below(PICKS),
    usesOldId: dice.chance(30),
    key: dice.chance(30) ? dice.below(NATURAL_KEYS) : null,
    reference: dice.chance(70) ? dice.below(PICKS) : null,
    isBad: dice.chance(8),
  };
}

function drawOfficeEdit({ dice, sources }: Draft): UploadDeed {
  return {
    kind: 'office_edit',
    source: dice.pick(sources),
    user: dice.below(USERS.length),
    pick: dice.below(PICKS),
    op: dice.pick(['make', 'change', 'change', 'delete']),
    isPushed: dice.chance(60),
  };
}

function drawWait(draft: Draft): number {
  const ms = draft.dice.pick([5_000, 5_000, 2 * MINUTE_MS, 2 * MINUTE_MS, DAY_MS + MINUTE_MS]);
  if (ms < DAY_MS || draft.longWaits++ < LONG_WAITS_MAX) return ms;
  return MINUTE_MS;
}
