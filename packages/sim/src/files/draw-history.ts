import { Rng, seededRandom } from '@tidemark/testing/kit';
import { type Action, FILES, type FilesHistory, GRACE_MS, GROUPS, OBJECTS, type Place, USERS } from './step.ts';

const STEPS_MIN = 10;
const STEPS_MAX = 45;
const DELAY_SEEDS = 2 ** 31;

type Simple = Exclude<Action, { readonly kind: 'collect' | 'time_passes' }>;

const WEIGHTS = [
  ['push', 20],
  ['write', 20],
  ['send', 25],
  ['set_groups', 8],
  ['replace_user', 3],
  ['drop_source', 2],
] as const satisfies readonly (readonly [Simple['kind'], number])[];

/** Returns the history of a seed, always the same one. */
export function drawHistory(seed: number): FilesHistory {
  const rng = new Rng(seededRandom(seed));
  const steps = Array.from({ length: rng.between(STEPS_MIN, STEPS_MAX) }, () => {
    return { ...drawAction(rng), delaySeed: rng.below(DELAY_SEEDS) };
  });
  return { seed, steps };
}

function drawAction(rng: Rng): Action {
  if (rng.chance(20)) {
    const killAt = rng.pick([null, null, null, 'aside', 'answer'] as const);
    return { kind: 'collect', meanwhile: rng.chance(50) ? drawSimple(rng) : null, killAt };
  }
  if (rng.chance(20)) return { kind: 'time_passes', ms: rng.pick([GRACE_MS / 2, GRACE_MS, GRACE_MS]) };
  return drawSimple(rng);
}

function drawSimple(rng: Rng): Simple {
  const kind = rng.weighted(WEIGHTS);
  const user = rng.pick(USERS);
  switch (kind) {
    case 'push':
      return { kind, ...drawWritten(rng, drawPlace(rng, rng.pick(USERS))) };
    case 'write':
      return { kind, user, ...drawWritten(rng, drawPlace(rng, user)) };
    case 'send': {
      const upTo = rng.pick(['begun', 'arriving', 'durable', 'whole', 'whole', 'whole', 'whole'] as const);
      return { kind, user: rng.chance(30) ? null : user, file: rng.pick(FILES), upTo };
    }
    case 'set_groups':
      return { kind, user, groups: GROUPS.filter(() => rng.chance(50)) };
    case 'replace_user':
      return { kind, user };
    case 'drop_source':
      return { kind };
  }
}

function drawPlace(rng: Rng, user: string): Place {
  const kind = rng.pick(['user', 'user', 'group', 'group', 'all'] as const);
  if (kind === 'user') return { kind, user };
  return kind === 'group' ? { kind, group: rng.pick(GROUPS) } : { kind };
}

function drawWritten(rng: Rng, place: Place) {
  return { place, object: rng.pick(OBJECTS), file: rng.chance(65) ? rng.pick(FILES) : null };
}
