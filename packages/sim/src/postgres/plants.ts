import type { PostgresRule } from '../runner/violation.ts';

/** A connector with one mistake. It shows that the simulation would notice a mistake of that kind. */
export interface PlantedBug {
  readonly name: PlantName;
  /** The rule that the bug must break; some histories may show it in another way. */
  readonly breaks: PostgresRule;
  /** What a history that shows it has, so that others need not be run. */
  readonly shownBy: RegExp;
}

/** Where each is planted: `plant-connector.ts` and `plant-pushes.ts`. */
export const PLANTED_BUGS = [
  { name: 'a position is acknowledged when it is received', breaks: 'PGSIM-6', shownBy: /cut_pushes/ },
  {
    name: 'a column that was left out is taken for null',
    breaks: 'PGSIM-1',
    shownBy: /UPDATE (orders SET note|notes SET title|lines SET ware)[^"]* id = [1-6]"/,
  },
  {
    name: 'a row that moves stays with its old owner',
    breaks: 'PGSIM-1',
    shownBy: /(SET crew|SET owner) = '@\w+' WHERE id = [1-6]"/,
  },
  { name: 'a batch that fails is skipped', breaks: 'PGSIM-1', shownBy: /cut_pushes/ },
  { name: 'the changes between the marks are not laid over a chunk', breaks: 'PGSIM-1', shownBy: /hold_chunk/ },
  { name: 'TRUNCATE is forgotten', breaks: 'PGSIM-1', shownBy: /TRUNCATE/ },
  {
    name: 'the old key of a row is forgotten',
    breaks: 'PGSIM-1',
    shownBy: /UPDATE orders SET id = [78] WHERE id = [1-6]"|SET id = id \+/,
  },
  { name: 'a position is stored before its changes', breaks: 'PGSIM-1', shownBy: /cut_pushes/ },
  { name: 'a membership that is deleted stays', breaks: 'PGSIM-2', shownBy: /DELETE FROM members WHERE id = [1-4]"/ },
  { name: 'the rows of a group are pushed to another one as well', breaks: 'PGSIM-4', shownBy: /pull/ },
  { name: 'rows are deleted and pushed again', breaks: 'PGSIM-5', shownBy: /catch_up/ },
  { name: 'the rows of one owner are left out of a call with several', breaks: 'PGSIM-1', shownBy: /catch_up/ },
  { name: 'the rows of two owners in a call are exchanged', breaks: 'PGSIM-4', shownBy: /pull/ },
  { name: 'the answer about one owner is taken for that of another', breaks: 'PGSIM-1', shownBy: /'@max', 'Max'/ },
  { name: 'a call arrives again behind the next one', breaks: 'PGSIM-1', shownBy: /catch_up/ },
] as const satisfies readonly (Omit<PlantedBug, 'name'> & { readonly name: string })[];

export type PlantName = (typeof PLANTED_BUGS)[number]['name'];
