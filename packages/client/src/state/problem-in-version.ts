import type { Reader } from './local-state.ts';
import type { ProblemRow } from './rows.ts';

/** Returns a problem with the attributes in the version of the app, in which nobody may have made the change. */
export function inVersionOfApp(reader: Reader, problem: ProblemRow): ProblemRow {
  const { versions } = reader;
  if (versions === null) return problem;
  const row = reader.get('sources', ['', problem.source]);
  const current = problem.current && versions.answered(row, problem.current);
  const { removed: _, version: __, ...rest } = problem;
  return { ...rest, ...versions.changeOf(row, problem, current ?? undefined), current };
}
