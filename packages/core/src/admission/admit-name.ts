import { type NameKind, nameProblem, Refusal } from '@tidemark/protocol';

/** A name of the given kind, or a refusal that says what is wrong with it. `at` is a JSON pointer into the request. */
export function admitName(kind: NameKind, name: unknown, at: string): string {
  if (typeof name !== 'string') {
    throw new Refusal('invalid_request', `${kind} name must be a string`, [
      { pointer: at, detail: 'must be a string' },
    ]);
  }
  const problem = nameProblem(kind, name);
  if (problem !== null) {
    const detail = `the ${kind} name ${quoted(name)} ${problem}`;
    throw new Refusal('invalid_name', detail, [{ pointer: at, detail: problem }]);
  }
  return name;
}

const QUOTED_UNITS_MAX = 80;

/** A name as it may stand in a message: escaped, and never longer than a line. */
export function quoted(name: string): string {
  const shown = name.length > QUOTED_UNITS_MAX ? `${name.slice(0, QUOTED_UNITS_MAX)}…` : name;
  return JSON.stringify(shown.toWellFormed());
}
