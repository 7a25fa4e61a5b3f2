import { type NameKind, nameProblem, Refusal } from '@tidemark/protocol';

/** A JSON pointer into the request. A function where building the pointer would cost more than the check. */
export type JsonPointer = string | (() => string);

/** Returns the name, or throws a refusal that says what is wrong with it. */
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

/** Returns a name for a message: quoted, escaped and cut to one line. */
export function quoted(name: string): string {
  const shown = name.length > QUOTED_UNITS_MAX ? `${name.slice(0, QUOTED_UNITS_MAX)}…` : name;
  return JSON.stringify(shown.toWellFormed());
}
