import type { Rng } from '@tidemark/testing/kit';
import {
  type BetweenStep,
  DEVICE_USERS,
  GROUPS,
  MOVED_IDS,
  SHARED_IDS,
  SOURCES,
  type SourceName,
  type Step,
  TABS,
  WRITTEN_SOURCES,
} from './step.ts';

const VERSIONS_MAX = 4;
const UPDATES_MAX = 4;
const CLEARS_MAX = 4;
const TURNS_MAX = 40;
/** In percent: how often a change waits while its app is updated. */
const ACROSS_CHANCE = 40;
/** No more than the groups and users of a source. */
const PARTITIONS_MAX = 4;
const BETWEEN_MAX = 3;

/** Returns the steps with some between them that set versions, convert objects and update apps. The first steps stay the first. */
export function withVersions(rng: Rng, steps: readonly Step[]): readonly Step[] {
  const all = [...steps];
  const main = rng.pick(SOURCES);
  for (let count = rng.between(1, VERSIONS_MAX); count > 0; count--) {
    let at = rng.below(all.length + 1);
    for (const step of drawVersion(rng, rng.chance(60) ? main : rng.pick(SOURCES))) {
      all.splice(at, 0, step);
      at = Math.min(all.length, at + 1 + rng.below(4));
    }
  }
  if (rng.chance(ACROSS_CHANCE)) all.splice(rng.below(all.length + 1), 0, ...changeAcrossVersions(rng));
  const insert = (step: Step) => all.splice(rng.below(all.length + 1), 0, step);
  for (let count = rng.below(UPDATES_MAX); count > 0; count--) {
    insert({ kind: 'update_app', ...drawDevice(rng), isKilled: rng.chance(50) });
  }
  for (let count = rng.below(CLEARS_MAX); count > 0; count--) insert(drawClear(rng));
  return all;
}

/** Without a network, an object is changed, the app is updated to a newer version, and the object is changed again. */
function changeAcrossVersions(rng: Rng): readonly Step[] {
  const of = drawDevice(rng);
  const source = rng.pick(WRITTEN_SOURCES);
  const update: Step = { kind: 'update', ...of, source, pick: rng.below(1_000) };
  return [
    { kind: 'sync', ...of },
    { kind: 'offline', ...of },
    update,
    { kind: 'version', source, during: null, turns: 0, converts: true },
    ...(rng.chance(60) ? [drawConvert(rng)] : []),
    { kind: 'update_app', ...of, isKilled: rng.chance(50) },
    update,
    { kind: 'online', ...of },
  ];
}

/** A version, and how its objects are converted. */
function drawVersion(rng: Rng, source: SourceName): readonly Step[] {
  const during = rng.pick([null, null, 'push', 'ask'] as const);
  const version: Step = { kind: 'version', source, during, turns: rng.below(TURNS_MAX), converts: rng.chance(60) };
  return [version, ...Array.from({ length: rng.below(3) }, () => drawConvert(rng))];
}

function drawConvert(rng: Rng): Step {
  const stopsAfter = rng.chance(40) ? rng.below(PARTITIONS_MAX) : null;
  const between = Array.from({ length: rng.below(BETWEEN_MAX) }, () => {
    return { at: rng.below(PARTITIONS_MAX), step: drawBetween(rng) };
  });
  return { kind: 'convert', stopsAfter, between };
}

function drawBetween(rng: Rng): BetweenStep {
  const kind = rng.pick(['put', 'remove', 'move', 'move', 'update', 'update', 'clear'] as const);
  const source = rng.pick(WRITTEN_SOURCES);
  const [group = 'a', to = 'b'] = rng.shuffle(GROUPS);
  switch (kind) {
    case 'put':
      return { kind, source, group, id: rng.pick([...SHARED_IDS, ...MOVED_IDS]) };
    case 'remove':
      return { kind, source, group, id: rng.pick(MOVED_IDS) };
    case 'move':
      return { kind, source: rng.pick(['Visit', 'Task']), group, to, id: rng.pick(MOVED_IDS) };
    case 'update':
      return { kind, ...drawDevice(rng), source, pick: rng.below(1_000) };
    case 'clear':
      return drawClear(rng);
  }
}

function drawClear(rng: Rng) {
  return { kind: 'clear', ...drawDevice(rng), source: rng.pick(WRITTEN_SOURCES), pick: rng.below(1_000) } as const;
}

function drawDevice(rng: Rng) {
  return { device: rng.below(DEVICE_USERS.length), tab: rng.below(TABS) };
}
