import { findFailure, type SimulationFailure } from './simulate.ts';
import type { History, ObjectsGiven, PlannedWrite, Step } from './step.ts';
import type { MakeSubject } from './subject.ts';

export interface Shrunk {
  readonly history: History;
  readonly failure: SimulationFailure;
  /** How many histories were tried. */
  readonly runs: number;
}

interface Search {
  best: History;
  failure: SimulationFailure;
  runs: number;
  readonly fails: (history: History) => Promise<SimulationFailure | null>;
  readonly runsMax: number;
}

/**
 * Makes a failing history as short as it can within a bounded number of runs: first whole stretches of steps go, then
 * parts of the steps that are left. What is left still breaks the same rule.
 */
export async function shrink(
  history: History,
  failure: SimulationFailure,
  { makeSubject, engine, runsMax }: { makeSubject: MakeSubject; engine: string; runsMax: number },
): Promise<Shrunk> {
  const fails = async (shorter: History): Promise<SimulationFailure | null> => {
    const found = await findFailure(shorter, makeSubject, engine);
    return found?.rule === failure.rule ? found : null;
  };
  // Steps after the failure were never made.
  const best = { ...history, steps: history.steps.slice(0, failure.stepNumber) };
  const search: Search = { best, failure, runs: 0, fails, runsMax };
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    await removeStretches(search, size);
  }
  await simplifySteps(search);
  await removeStretches(search, 1);
  return { history: search.best, failure: search.failure, runs: search.runs };
}

async function removeStretches(search: Search, size: number): Promise<void> {
  for (let at = search.best.steps.length - size; at >= 0; at--) {
    const { steps } = search.best;
    await attempt(search, [...steps.slice(0, at), ...steps.slice(at + size)]);
  }
}

async function simplifySteps(search: Search): Promise<void> {
  for (let at = 0; at < search.best.steps.length; at++) {
    for (let simplified = true; simplified; ) simplified = await simplifyStep(search, at);
  }
}

/** Whether a simpler step does it too. */
async function simplifyStep(search: Search, at: number): Promise<boolean> {
  const { steps } = search.best;
  const step = steps[at];
  if (step === undefined) return false;
  for (const simpler of simplerSteps(step)) if (await attempt(search, steps.with(at, simpler))) return true;
  return false;
}

async function attempt(search: Search, steps: readonly Step[]): Promise<boolean> {
  if (search.runs >= search.runsMax || steps.length === 0) return false;
  search.runs++;
  const history = { ...search.best, steps };
  const failure = await search.fails(history);
  if (failure === null) return false;
  search.best = history;
  search.failure = failure;
  return true;
}

function simplerSteps(step: Step): Step[] {
  switch (step.kind) {
    case 'write':
      return simplerWrites(step.write).map((write) => ({ ...step, write }));
    case 'together':
      return [
        ...step.writes.map((write): Step => ({ kind: 'write', write, weather: step.weather })),
        ...(step.trim === null ? [] : [{ ...step, trim: null }]),
        ...withoutOne(step.pulls).map((pulls) => ({ ...step, pulls })),
        ...withoutOne(step.writes).map((writes) => ({ ...step, writes })),
        ...withOneSimpler(step.writes).map((writes) => ({ ...step, writes })),
      ];
    case 'recreate_user':
      return [
        ...withoutOne(step.pulls).map((pulls) => ({ ...step, pulls })),
        ...withoutOne(step.racing).map((racing) => ({ ...step, racing })),
        ...withoutOne(step.first).map((first) => ({ ...step, first })),
        ...withOneSimpler(step.racing).map((racing) => ({ ...step, racing })),
        ...withOneSimpler(step.first).map((first) => ({ ...step, first })),
      ];
    case 'reset_store':
      return [
        ...withoutOne(step.pulls).map((pulls) => ({ ...step, pulls })),
        ...withoutOne(step.racing).map((racing) => ({ ...step, racing })),
      ];
    case 'pull':
      return step.sizes.length > 1 ? withoutOne(step.sizes).map((sizes) => ({ ...step, sizes })) : [];
    default:
      return [];
  }
}

function withOneSimpler(writes: readonly PlannedWrite[]): PlannedWrite[][] {
  return writes.flatMap((write, index) => simplerWrites(write).map((simpler) => writes.with(index, simpler)));
}

function simplerWrites(write: PlannedWrite): PlannedWrite[] {
  switch (write.kind) {
    case 'push_objects':
    case 'fast_insert':
      return simplerObjects(write.objects).map((objects) => ({ ...write, objects }));
    case 'push_deletes':
      return withoutOne(write.ids).map((ids) => ({ ...write, ids }));
    case 'fast_update':
      return [
        ...withoutOne(write.asStored).map((asStored) => ({ ...write, asStored })),
        ...simplerObjects(write.deleteData).map((deleteData) => ({ ...write, deleteData })),
        ...simplerObjects(write.data).map((data) => ({ ...write, data })),
      ];
    case 'fast_delete':
      return [
        ...withoutOne(write.asStored).map((asStored) => ({ ...write, asStored })),
        ...simplerObjects(write.data).map((data) => ({ ...write, data })),
      ];
    case 'replace':
      return [
        ...withoutOne(write.without).map((without) => ({ ...write, without })),
        ...simplerObjects(write.objects).map((objects) => ({ ...write, objects })),
      ];
  }
}

/** One object less, or one attribute less. */
function simplerObjects(objects: ObjectsGiven): ObjectsGiven[] {
  const fewer = withoutOne(Object.entries(objects));
  const thinner = Object.entries(objects).flatMap(([id, attributes]) =>
    withoutOne(Object.entries(attributes)).map((left) => ({ ...objects, [id]: Object.fromEntries(left) })),
  );
  return [...fewer.map((left) => Object.fromEntries(left)), ...thinner];
}

function withoutOne<T>(items: readonly T[]): T[][] {
  return items.map((_, index) => items.toSpliced(index, 1));
}
