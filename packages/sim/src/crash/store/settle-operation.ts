import { effectOf } from './effect-of.ts';
import { type Effect, type Facts, factKey, markText, type TokenFields, tokenFields } from './facts.ts';
import { clientOf, partitionOf } from './names.ts';
import type { Operation, PullOperation } from './operation.ts';
import { type Problem, problemAbout } from './problem.ts';

export interface Outcome {
  /** `neither`: it would have changed nothing. */
  readonly outcome: 'applied' | 'notApplied' | 'neither';
  /** What it changed, if it was applied. */
  readonly effect: Effect;
  readonly problems: readonly Problem[];
}

/** Returns what became of an operation that was running when its process was killed: all of it, or nothing. */
export function settleOperation(before: Facts, found: Facts, writer: number, operation: Operation): Outcome {
  if (operation.kind === 'pull') return settlePull(before, found, writer, operation);
  const effect = effectOf(before, writer, operation);
  const differing = [...effect].filter(([key, text]) => (before.get(key) ?? null) !== text);
  if (differing.length === 0) return { outcome: 'neither', effect, problems: [] };
  const done = differing.filter(([key, text]) => (found.get(key) ?? null) === text);
  if (done.length === differing.length) return { outcome: 'applied', effect, problems: [] };
  const undone = differing.filter(([key]) => found.get(key) === before.get(key));
  if (undone.length === differing.length) return { outcome: 'notApplied', effect, problems: [] };
  const what = `the ${operation.kind} of writer ${writer} is torn: of ${differing.length} facts ${done.length} changed, ${undone.length} did not`;
  const details = differing.map(
    ([key, text]) => `${key} was ${before.get(key)}, should become ${text}, is ${found.get(key)}`,
  );
  // The model takes over the torn state, so that it is reported once.
  const taken = new Map(differing.map(([key]) => [key, found.get(key) ?? null]));
  return { outcome: 'applied', effect: taken, problems: [problemAbout('CRASH-2', what, details)] };
}

/** A pull leaves a tidemark: the token that was sent, or the begin of starting over. */
function settlePull(before: Facts, found: Facts, writer: number, { target, token }: PullOperation): Outcome {
  const key = factKey.mark(partitionOf(writer, target), clientOf(writer));
  const text = found.get(key);
  if (text === before.get(key)) return { outcome: 'neither', effect: new Map(), problems: [] };
  const isPresented = token !== null && text === markText(tokenFields(token));
  const isKnown = text !== undefined && (isPresented || isRestart(JSON.parse(text) as TokenFields));
  const problems = isKnown
    ? []
    : [problemAbout('CRASH-2', `${key} is ${text}, after ${before.get(key)} and a pull with ${token}`, [])];
  return { outcome: 'applied', effect: new Map([[key, text ?? null]]), problems };
}

function isRestart({ seq, base, start }: TokenFields): boolean {
  return seq === 0 && base === null && start !== null;
}
