import { randomBytes } from 'node:crypto';
import { TidemarkError } from '@tidemark/backend';
import type { UsersPlan } from '../mapping/plan.ts';
import type { Applied, ApplyPorts } from './apply-ports.ts';
import type { Assignment } from './assignments.ts';
import { attributesOf } from './attributes.ts';
import type { RowChange, TableChanges } from './batch.ts';
import type { RowProblem } from './problems.ts';
import type { Row } from './row.ts';

const MADE = 'made';

/** Applies changes of a table whose rows become users. Users whom somebody else has created are never deleted. */
export async function applyUsers(ports: ApplyPorts, plan: UsersPlan, changes: TableChanges): Promise<Applied> {
  const assignments = await ports.assignmentsOf(plan.label).read(changes.keys());
  const newAssignments = new Map<string, Assignment | null>();
  const problems: RowProblem[] = [];
  const toRead: string[] = [];
  for (const [id, change] of changes) {
    const assignment = await applyUser(ports, plan, { id, change, before: assignments.get(id) });
    if (assignment === 'read') toRead.push(id);
    else if (typeof assignment === 'string') problems.push({ table: plan.label, key: id, reason: assignment });
    else if (assignment !== undefined) newAssignments.set(id, assignment);
  }
  await ports.assignmentsOf(plan.label).write(newAssignments);
  await ports.problems.settle(plan.label, newAssignments.keys(), problems);
  return { toRead, moved: [] };
}

interface UserChange {
  readonly id: string;
  readonly change: RowChange;
  readonly before: Assignment | undefined;
}

/** Returns the new assignment of the row, undefined where it stays as it was, `read`, or why the user is refused. */
async function applyUser(
  ports: ApplyPorts,
  plan: UsersPlan,
  { id, change, before }: UserChange,
): Promise<Assignment | null | undefined | string> {
  const login = loginIn(plan, change, before);
  if (login === undefined) return 'read';
  let assignment: Assignment | null | undefined;
  if (change.kind === 'put' && login !== null) {
    const saved = await save(ports, plan, { id, login, row: change.row, wasMade: isMade(before, login) });
    if (typeof saved === 'string') return saved;
    assignment = { owner: login, extra: saved.isMade ? MADE : null };
  }
  if (before === undefined || before.owner === login) return assignment;
  if (before.owner !== null && before.extra === MADE) await remove(ports, before.owner);
  return assignment ?? null;
}

/** Null: the row is no user; undefined: it has to be read. */
function loginIn(plan: UsersPlan, change: RowChange, before: Assignment | undefined): string | null | undefined {
  if (change.kind === 'delete') return null;
  const login = change.row.get(plan.login.name);
  if (login !== undefined) return login || null;
  return change.isNew || before?.owner === null ? undefined : before?.owner;
}

function isMade(before: Assignment | undefined, login: string): boolean {
  return before?.owner === login && before.extra === MADE;
}

interface Saved {
  readonly id: string;
  readonly login: string;
  readonly row: Row;
  readonly wasMade: boolean;
}

/** Returns why Tidemark does not take the user, as a text. */
async function save(
  { client, toJson, assignmentsOf }: ApplyPorts,
  plan: UsersPlan,
  { id, login, row, wasMade }: Saved,
): Promise<{ readonly isMade: boolean } | string> {
  try {
    const attributes = attributesOf(row, plan.attributes, toJson);
    try {
      await client.users.update(login, attributes);
      return { isMade: wasMade };
    } catch (error) {
      if (!(error instanceof TidemarkError) || error.code !== 'user_not_found') throw error;
      // Noted first, so that it is known after a crash who has created the user.
      await assignmentsOf(plan.label).write(new Map([[id, { owner: login, extra: MADE }]]));
      // Nobody knows the password: people sign in through the identity provider, the backend or an invite.
      await client.users.create({ ...attributes, login, password: randomBytes(48).toString('base64url') });
      return { isMade: true };
    }
  } catch (error) {
    const isRefused = error instanceof TidemarkError && (error.status === 400 || error.status === 422);
    if (isRefused || !(error instanceof TidemarkError)) return error instanceof Error ? error.message : String(error);
    throw error;
  }
}

async function remove({ client }: ApplyPorts, login: string): Promise<void> {
  try {
    await client.users.delete(login);
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.status !== 404) throw error;
  }
}
