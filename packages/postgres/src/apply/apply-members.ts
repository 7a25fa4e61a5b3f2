import { TidemarkError } from '@tidemark/backend';
import { nameProblem } from '@tidemark/protocol';
import type { MembersPlan } from '../mapping/plan.ts';
import type { Applied, ApplyPorts } from './apply-ports.ts';
import type { Assignment } from './assignments.ts';
import type { RowChange, TableChanges } from './batch.ts';
import type { RowProblem } from './problems.ts';
import { columnsOf, isWhole, nameIn } from './row.ts';
import type { Placed } from './rows-under-way.ts';

/** Whether a row of any table of members makes the user a member of the group. */
export type IsMember = (user: string, group: string) => Promise<boolean>;

interface Member {
  readonly user: string;
  readonly group: string;
}

/** Applies changes of a table whose rows make users members of groups. */
export async function applyMembers(
  ports: ApplyPorts,
  plan: MembersPlan,
  changes: TableChanges,
  isMember: IsMember,
): Promise<Applied> {
  const assignments = await ports.assignmentsOf(plan.label).read(changes.keys());
  const { newAssignments, joined, left, toRead, impossible } = decideMembers(plan, changes, assignments);
  const placed = [...newAssignments].flatMap(([id, after]) => placedOf(id, assignments.get(id), after));
  if (newAssignments.size > 0) await ports.underWay.note({ table: plan.label, source: null, placed });
  const problems = [...impossible, ...(await join(ports, plan, joined))];
  for (const { user, group } of left) {
    // Another row may say the same. If that one is gone by now, its own deletion is still to come and is looked up again.
    if (!(await isMember(user, group))) await leave(ports, { user, group });
  }
  await ports.assignmentsOf(plan.label).write(newAssignments);
  const open = new Set([...problems.map(({ key }) => key), ...toRead]);
  const settled = [...changes.keys()].filter((id) => !open.has(id));
  await ports.problems.settle(plan.label, settled, problems);
  return { toRead };
}

/** User → group → the rows that say so. */
type Joined = Map<string, Map<string, string[]>>;

interface MembersDecision {
  readonly newAssignments: Map<string, Assignment | null>;
  readonly joined: Joined;
  readonly left: Member[];
  readonly toRead: string[];
  /** Rows with a name that nobody and no group can have. */
  readonly impossible: RowProblem[];
}

function decideMembers(
  plan: MembersPlan,
  changes: TableChanges,
  assignments: ReadonlyMap<string, Assignment>,
): MembersDecision {
  const decision: MembersDecision = {
    newAssignments: new Map(),
    joined: new Map(),
    left: [],
    toRead: [],
    impossible: [],
  };
  const { newAssignments, joined, left, toRead, impossible } = decision;
  for (const [id, change] of changes) {
    const before = assignments.get(id);
    const named = memberIn(plan, change);
    if (named === 'unknown') {
      toRead.push(id);
      continue;
    }
    const reason = memberProblem(named);
    if (reason !== null) impossible.push({ table: plan.label, key: id, reason });
    const after = reason === null ? named : null;
    left.push(...leftBy(before, after));
    if (after !== null) noteJoined(joined, after, id);
    if (after !== null || before !== undefined) newAssignments.set(id, assignmentOf(after));
  }
  return decision;
}

function noteJoined(joined: Joined, { user, group }: Member, id: string): void {
  const groups = joined.get(user) ?? new Map<string, string[]>();
  joined.set(user, groups.set(group, [...(groups.get(group) ?? []), id]));
}

function placedOf(id: string, before: Assignment | undefined, after: Assignment | null): readonly Placed[] {
  const [was, is] = [memberOf(before), memberOf(after ?? undefined)];
  return is === null || isSame(is, was) ? [] : [{ owner: is.user, extra: is.group, ids: [id] }];
}

function leftBy(before: Assignment | undefined, after: Member | null): readonly Member[] {
  const was = memberOf(before);
  return was === null || isSame(was, after) ? [] : [was];
}

function isSame(one: Member, other: Member | null): boolean {
  return one.user === other?.user && one.group === other.group;
}

function assignmentOf(member: Member | null): Assignment | null {
  return member === null ? null : { owner: member.user, extra: member.group };
}

/** Null: the row makes nobody a member. */
function memberIn(plan: MembersPlan, change: RowChange): Member | null | 'unknown' {
  if (change.kind === 'delete') return null;
  if (!isWhole(change.row, columnsOf({ kind: 'members', label: plan.label, plan }))) return 'unknown';
  const [user, group] = [nameIn(change.row, plan.user) ?? null, nameIn(change.row, plan.group) ?? null];
  // An empty text is no name.
  return user && group ? { user, group } : null;
}

function memberProblem(member: Member | null): string | null {
  if (member === null) return null;
  const { user, group } = member;
  const [userProblem, groupProblem] = [nameProblem('login', user), nameProblem('group', group)];
  if (userProblem !== null) return `the name of the user ${userProblem}`;
  return groupProblem === null ? null : `the name of the group ${groupProblem}`;
}

function memberOf(assignment: Assignment | undefined): Member | null {
  if (assignment === undefined || assignment.owner === null || assignment.extra === null) return null;
  return { user: assignment.owner, group: assignment.extra };
}

async function join(ports: ApplyPorts, plan: MembersPlan, joined: Joined): Promise<readonly RowProblem[]> {
  const problems: RowProblem[] = [];
  for (const [user, groups] of joined) problems.push(...(await joinUser(ports, plan, user, [...groups])));
  return problems;
}

/** Returns the rows whose groups are refused. When several are refused together, each half is tried by itself. */
async function joinUser(
  ports: ApplyPorts,
  plan: MembersPlan,
  user: string,
  groups: readonly (readonly [group: string, ids: readonly string[]])[],
): Promise<readonly RowProblem[]> {
  const table = plan.label;
  try {
    await ports.client.groups.add(
      user,
      groups.map(([group]) => group),
    );
    return [];
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    if (error.code === 'user_not_found') {
      await ports.waiting.add([{ kind: 'user', table, name: user }]);
      return [];
    }
    if (error.status !== 400 && error.status !== 422) throw error;
    if (groups.length === 1)
      return groups.flatMap(([, ids]) => ids.map((key) => ({ table, key, reason: error.message })));
  }
  const middle = Math.ceil(groups.length / 2);
  const first = await joinUser(ports, plan, user, groups.slice(0, middle));
  return [...first, ...(await joinUser(ports, plan, user, groups.slice(middle)))];
}

export async function leave({ client }: Pick<ApplyPorts, 'client'>, { user, group }: Member): Promise<void> {
  try {
    await client.groups.remove(user, group);
  } catch (error) {
    // Whoever is gone or no member any more has left.
    if (!(error instanceof TidemarkError) || error.status !== 404) throw error;
  }
}
