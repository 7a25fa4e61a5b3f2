import { Rng, seededRandom } from '@tidemark/testing/kit';
import { type Action, type BackendPolicy, type FaultRates, SOURCES, type UploadsHistory, USERS } from './step.ts';

const STEPS_MIN = 15;
const STEPS_MAX = 60;
const DEVICES_MAX = 3;
const NATURAL_KEYS = 2;
const PICKS = 1_000;
const DELAY_SEEDS = 2 ** 31;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** The server remembers a finished upload for a week, so the long waits of one history must stay below that. */
const LONG_WAITS_MAX = 3;

const WEIGHTS: Readonly<Record<Action['kind'], number>> = {
  edit: 40,
  push: 30,
  pull: 14,
  set_faults: 14,
  release: 20,
  run_jobs: 20,
  time_passes: 10,
  backend_edit: 8,
  replace_user: 4,
  crash: 2,
};

const NO_FAULTS: FaultRates = { down: 0, lost: 0, heldBefore: 0, heldAfter: 0 };
const FAULT_RATES: readonly FaultRates[] = [
  NO_FAULTS,
  NO_FAULTS,
  { ...NO_FAULTS, down: 100 },
  { ...NO_FAULTS, lost: 100 },
  { ...NO_FAULTS, lost: 50 },
  { ...NO_FAULTS, heldAfter: 60 },
  { ...NO_FAULTS, heldBefore: 60 },
  { down: 20, lost: 20, heldBefore: 20, heldAfter: 20 },
];

/** What the functions that draw one history share. */
interface Draft {
  readonly rng: Rng;
  readonly devices: number;
  readonly kinds: readonly Action['kind'][];
  /** A few sources, so that uploads meet. */
  readonly sources: readonly number[];
  longWaits: number;
}

/** Returns the history of a seed, always the same one. */
export function drawHistory(seed: number): UploadsHistory {
  const rng = new Rng(seededRandom(seed));
  const devices = Array.from({ length: rng.between(1, DEVICES_MAX) }, () => rng.pick([USERS[0], USERS[0], USERS[1]]));
  const backend: BackendPolicy = {
    ids: rng.pick(['keep', 'rename', 'mixed']),
    pushPercent: rng.pick([0, 50, 100]),
  };
  const sources = rng.shuffle([...SOURCES.keys()]).slice(0, rng.between(1, 3));
  for (const at of [...sources]) {
    const named = SOURCES.findIndex(({ name }) => name === SOURCES[at]?.refersTo);
    if (named >= 0 && !sources.includes(named)) sources.push(named);
  }
  const draft: Draft = { rng, devices: devices.length, kinds: drawKinds(rng), sources, longWaits: 0 };
  const steps = Array.from({ length: rng.between(STEPS_MIN, STEPS_MAX) }, () => {
    return { ...drawAction(draft, rng.pick(draft.kinds)), delaySeed: rng.below(DELAY_SEEDS) };
  });
  return { seed, devices, sources, backend, steps };
}

/** Histories that do a few things a lot find bugs that histories that do a little of everything do not. */
function drawKinds(rng: Rng): Action['kind'][] {
  const kinds = Object.keys(WEIGHTS) as Action['kind'][];
  return kinds.flatMap((kind) => {
    const factor = kind === 'edit' || kind === 'push' ? rng.pick([1, 2]) : rng.pick([0, 1, 1, 2]);
    return Array.from({ length: WEIGHTS[kind] * factor }, () => kind);
  });
}

function drawAction(draft: Draft, kind: Action['kind']): Action {
  const { rng } = draft;
  const device = rng.below(draft.devices);
  switch (kind) {
    case 'edit':
      return drawEdit(draft, device);
    case 'push':
      return { kind, device, times: rng.pick([1, 1, 1, 2]), acknowledges: rng.chance(30) };
    case 'pull':
      return { kind, device, acknowledges: rng.chance(70) };
    case 'set_faults':
      return { kind, faults: rng.pick(FAULT_RATES) };
    case 'release':
      return { kind, pick: rng.below(PICKS), isAnswered: rng.chance(60) };
    case 'run_jobs':
      return { kind, count: rng.between(1, 3) };
    case 'time_passes':
      return { kind, ms: drawWait(draft) };
    case 'backend_edit':
      return drawBackendEdit(draft);
    case 'replace_user':
      return { kind, user: rng.below(USERS.length) };
    case 'crash':
      return { kind };
  }
}

function drawEdit({ rng, sources }: Draft, device: number): Action {
  return {
    kind: 'edit',
    device,
    op: rng.pick(['create', 'create', 'update', 'update', 'update', 'delete']),
    source: rng.pick(sources),
    pick: rng.below(PICKS),
    usesOldId: rng.chance(30),
    key: rng.chance(30) ? rng.below(NATURAL_KEYS) : null,
    reference: rng.chance(70) ? rng.below(PICKS) : null,
    isBad: rng.chance(8),
  };
}

function drawBackendEdit({ rng, sources }: Draft): Action {
  return {
    kind: 'backend_edit',
    source: rng.pick(sources),
    user: rng.below(USERS.length),
    pick: rng.below(PICKS),
    op: rng.pick(['make', 'change', 'change', 'delete']),
    isPushed: rng.chance(60),
  };
}

function drawWait(draft: Draft): number {
  const ms = draft.rng.pick([5_000, 5_000, 2 * MINUTE_MS, 2 * MINUTE_MS, DAY_MS + MINUTE_MS]);
  if (ms < DAY_MS || draft.longWaits++ < LONG_WAITS_MAX) return ms;
  return MINUTE_MS;
}
