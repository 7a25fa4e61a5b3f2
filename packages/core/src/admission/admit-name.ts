import { type NameKind, nameProblem, Refusal } from '@tidemark/protocol';

/** A JSON pointer into the request. Given as a thunk where it is rarely needed and would cost more than the check. */
export type JsonPointer = string | (() => string);

/** A name of the given kind, or a refusal that says what is wrong with it. */
export function admitName(kind: NameKind, name: unknown, at: JsonPointer): string {
  if (typeof name !== 'string') {
    const flaw = { pointer: pointerOf(at), detail: 'must be a string' };
    throw new Refusal('invalid_request', `the ${kind} name must be a string`, [flaw]);
  }
  const problem = nameProblem(kind, name);
  if (problem !== null) {
    const detail = `the ${kind} name ${quoted(name)} ${problem}`;
    throw new Refusal('invalid_name', detail, [{ pointer: pointerOf(at), detail: problem }]);
  }
  return name;
}

function pointerOf(at: JsonPointer): string {
  return typeof at === 'string' ? at : at();
}

const QUOTED_UNITS_MAX = 80;

/** A name as it may stand in a message: escaped, and never longer than a line. */
export function quoted(name: string): string {
  const shown = name.length > QUOTED_UNITS_MAX ? `${name.slice(0, QUOTED_UNITS_MAX)}…` : name;
  return JSON.stringify(shown.toWellFormed());
}
