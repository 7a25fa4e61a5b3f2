import type { Reader } from './local-state.ts';
import type { ProblemRow, ShownProblem } from './rows.ts';

/** Returns a problem with the attributes in the version of the app, in which nobody may have made the change. */
export function inVersionOfApp(reader: Reader, problem: ProblemRow): ShownProblem {
  return reader.versions?.problem(reader.get('sources', ['', problem.source]), problem) ?? problem;
}
