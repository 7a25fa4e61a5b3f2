import { isDeepStrictEqual } from 'node:util';
import type { PostgresRule } from '../runner/violation.ts';
import type { HistoryRun } from './history-run.ts';
import { type Expected, type ExpectedObjects, partitionName } from './oracle.ts';
import { GROUPS, SOURCES, type SourceName, USERS } from './step.ts';
import type { Whose } from './tidemark-side.ts';

export interface Difference {
  readonly rule: PostgresRule;
  readonly text: string;
}

export interface PartitionOf {
  readonly source: SourceName;
  readonly owner: string;
  readonly whose: Whose;
}

/** Every partition that a history can have. */
export function partitionsOf(run: HistoryRun): readonly PartitionOf[] {
  const groups = GROUPS.map((group) => run.own(group));
  return [
    { source: SOURCES.wares, owner: '*', whose: null },
    ...[...USERS, 'last'].map((name) => {
      const user = run.own(name);
      return { source: SOURCES.notes, owner: user, whose: { user } };
    }),
    ...[SOURCES.orders, SOURCES.lines].flatMap((source) =>
      groups.map((group) => ({ source, owner: group, whose: { group } })),
    ),
  ];
}

/** What Tidemark has otherwise than SQL says; null: nothing. */
export async function differenceFrom(run: HistoryRun): Promise<Difference | null> {
  const expected = await run.oracle.expected(run.mapping);
  return (await differenceOfPeople(run, expected)) ?? (await differenceOfPartitions(run, expected));
}

async function differenceOfPartitions(run: HistoryRun, { partitions }: Expected): Promise<Difference | null> {
  for (const { source, owner, whose } of partitionsOf(run)) {
    const stored = await run.tidemark.partition(run.own(source), whose);
    const wanted = partitions.get(partitionName(source, owner)) ?? new Map();
    const text = objectsDifference(wanted, new Map(Object.entries(stored?.objects ?? {})));
    if (text !== null)
      return { rule: 'PGSIM-1', text: `Tidemark has ${source} of ${owner} otherwise than SQL: ${text}` };
  }
  return null;
}

async function differenceOfPeople(run: HistoryRun, { members, users }: Expected): Promise<Difference | null> {
  const rule = 'PGSIM-2';
  for (const name of [...USERS, 'last']) {
    const login = run.own(name);
    const user = await run.tidemark.user(login);
    if (users.has(login) && user === null) return { rule, text: `there is no user ${login}` };
    if (users.has(login) && user?.name !== users.get(login)) {
      return { rule, text: `the user ${login} is ${JSON.stringify(user)} instead of ${users.get(login)}` };
    }
    const isLasting = run.isLasting(name);
    if (!users.has(login) && !isLasting && user !== null) return { rule, text: `the user ${login} is still there` };
    const [wanted, found] = [members.get(login) ?? [], [...(await run.tidemark.groupsOf(login))].sort()];
    if (!isDeepStrictEqual(found, wanted)) {
      return { rule, text: `${login} is a member of ${found.join(', ')} instead of ${wanted.join(', ')}` };
    }
  }
  return null;
}

const SHOWN_UNITS = 300;

/** The first object that differs; null: none. */
export function objectsDifference(wanted: ExpectedObjects, found: ExpectedObjects): string | null {
  for (const id of new Set([...wanted.keys(), ...found.keys()])) {
    if (isDeepStrictEqual(wanted.get(id), found.get(id))) continue;
    return `${id} is ${shown(found.get(id))} instead of ${shown(wanted.get(id))}`;
  }
  return null;
}

function shown(object: unknown): string {
  if (object === undefined) return 'missing';
  const attributes = Object.entries(object as object).map(([name, value]) => {
    const text = JSON.stringify(value);
    return `${name}: ${text.length > 40 ? `${text.slice(0, 40)}… (${text.length})` : text}`;
  });
  return `{ ${attributes.join(', ')} }`.slice(0, SHOWN_UNITS);
}
