import { TidemarkError } from '@tidemark/backend';
import type { MembersPlan } from '../mapping/plan.ts';
import type { Applied, ApplyPorts } from './apply-ports.ts';
import type { Assignment } from './assignments.ts';
import type { RowChange, TableChanges } from './batch.ts';
import type { RowProblem } from './problems.ts';
import { columnsOf, isWhole } from './row.ts';

/** Whether the table has a row that makes the user a member of the group. */
export type IsMember = (plan: MembersPlan, user: string, group: string) => Promise<boolean>;

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
  const { newAssignments, joined, left, toRead } = decideMembers(plan, changes, assignments);
  const problems = await join(ports, plan, joined);
  for (const { user, group } of left) {
    // Another row may say the same. If that one is gone by now, its own deletion is still to come and is looked up again.
    if (!(await isMember(plan, user, group))) await leave(ports, { user, group });
  }
  await ports.assignmentsOf(plan.label).write(newAssignments);
  await ports.problems.settle(plan.label, [], problems);
  return { toRead, moved: [] };
}

interface MembersDecision {
  readonly newAssignments: Map<string, Assignment | null>;
  /** User → groups. */
  readonly joined: Map<string, Set<string>>;
  readonly left: Member[];
  readonly toRead: string[];
}

function decideMembers(
  plan: MembersPlan,
  changes: TableChanges,
  assignments: ReadonlyMap<string, Assignment>,
): MembersDecision {
  const decision: MembersDecision = { newAssignments: new Map(), joined: new Map(), left: [], toRead: [] };
  const { newAssignments, joined, left, toRead } = decision;
  for (const [id, change] of changes) {
    const before = assignments.get(id);
    const after = memberIn(plan, change);
    if (after === 'unknown') {
      toRead.push(id);
      continue;
    }
    const was = memberOf(before);
    if (was !== null && !isSame(was, after)) left.push(was);
    if (after !== null) joined.set(after.user, (joined.get(after.user) ?? new Set()).add(after.group));
    if (after !== null || before !== undefined) newAssignments.set(id, assignmentOf(after));
  }
  return decision;
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
  const [user, group] = [change.row.get(plan.user.name) ?? null, change.row.get(plan.group.name) ?? null];
  return user === null || group === null ? null : { user, group };
}

function memberOf(assignment: Assignment | undefined): Member | null {
  if (assignment === undefined || assignment.owner === null || assignment.extra === null) return null;
  return { user: assignment.owner, group: assignment.extra };
}

async function join(
  { client, waiting }: ApplyPorts,
  plan: MembersPlan,
  joined: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<readonly RowProblem[]> {
  const problems: RowProblem[] = [];
  for (const [user, groups] of joined) {
    try {
      await client.groups.add(user, [...groups]);
    } catch (error) {
      if (!(error instanceof TidemarkError)) throw error;
      if (error.code === 'user_not_found') await waiting.add([{ kind: 'user', table: plan.label, name: user }]);
      else if (error.status === 400 || error.status === 422) {
        problems.push({ table: plan.label, key: user, reason: error.message });
      } else throw error;
    }
  }
  return problems;
}

async function leave({ client }: ApplyPorts, { user, group }: Member): Promise<void> {
  try {
    await client.groups.remove(user, group);
  } catch (error) {
    // Whoever is gone or no member any more has left.
    if (!(error instanceof TidemarkError) || error.status !== 404) throw error;
  }
}
