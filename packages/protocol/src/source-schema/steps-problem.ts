import type { JsonValue } from '../json/canonical-json.ts';
import { sameJson } from '../json/same-json.ts';
import { type MapStep, namesOf, type Step } from './step.ts';

export interface StepsProblem {
  /** The index of the step. */
  readonly at: number;
  readonly detail: string;
}

/**
 * Returns what is wrong with the steps of one version taken together; null: nothing. While stored objects are converted, some are of
 * the older version and some of the newer one, and what their attributes are called must tell which.
 */
export function stepsProblem(steps: readonly Step[]): StepsProblem | null {
  const taken = new Set(steps.flatMap((step) => namesOf(step).old));
  const seen: Seen = { taken: new Set(), brought: new Set(), changed: new Set() };
  for (const [at, step] of steps.entries()) {
    const detail = problemOfNames(step, taken, seen) ?? problemOfValue(step, taken, seen);
    if (detail !== null) return { at, detail };
  }
  return null;
}

/** The attributes that the steps so far have touched. */
interface Seen {
  readonly taken: Set<string>;
  readonly brought: Set<string>;
  readonly changed: Set<string>;
}

function problemOfNames(step: Step, taken: ReadonlySet<string>, seen: Seen): string | null {
  const { old, now } = namesOf(step);
  for (const name of now) {
    if (taken.has(name)) return `${JSON.stringify(name)} is also taken away: use two versions`;
    if (isSeen(seen.brought, name)) return `${JSON.stringify(name)} is brought by two steps`;
  }
  const twice = old.find((name) => isSeen(seen.taken, name));
  return twice === undefined ? null : `${JSON.stringify(twice)} is taken away by two steps`;
}

function problemOfValue(step: Step, taken: ReadonlySet<string>, { changed }: Seen): string | null {
  if (step.step !== 'map' && step.step !== 'convert') return null;
  const name = JSON.stringify(step.attribute);
  if (taken.has(step.attribute)) return `${name} is also taken away: name what it becomes`;
  if (isSeen(changed, step.attribute)) return `${name} is changed by two steps: use two versions`;
  const value = step.step === 'map' ? ambiguousValue(step) : undefined;
  if (value === undefined) return null;
  return `${JSON.stringify(value)} is an old value and a new one with another meaning: use two versions`;
}

function isSeen(names: Set<string>, name: string): boolean {
  if (names.has(name)) return true;
  names.add(name);
  return false;
}

/** An old value that becomes another one, and that another old value becomes. */
function ambiguousValue({ values }: MapStep): JsonValue | undefined {
  const moved = values.filter(([old, now]) => !sameJson(old, now));
  return moved.find(([old]) => values.some(([, now]) => sameJson(old, now)))?.[0];
}
