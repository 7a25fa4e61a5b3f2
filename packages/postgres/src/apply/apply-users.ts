import { randomBytes } from 'node:crypto';
import { type Attributes, TidemarkError } from '@tidemark/backend';
import type { UsersPlan } from '../mapping/plan.ts';
import type { Applied, ApplyPorts } from './apply-ports.ts';
import type { Assignment } from './assignments.ts';
import { attributesOf } from './attributes.ts';
import type { RowChange, TableChanges } from './batch.ts';
import type { RowProblem } from './problems.ts';
import { nameIn, type Row } from './row.ts';

/** Where it is noted which users the connector has created: login → owner, null once it has deleted the user. No table has this name. */
const MADE = 'made';

/** Whether a row of any table of users names the user. */
export type IsUser = (login: string) => Promise<boolean>;

interface UsersPorts extends ApplyPorts {
  readonly isUser: IsUser;
  /** Called before a user is created again, who has none of the rows and groups any more that he had. */
  readonly onReturn: (login: string) => Promise<void>;
}

/** Applies changes of a table whose rows become users. Users whom somebody else has created are never deleted. */
export async function applyUsers(ports: UsersPorts, plan: UsersPlan, changes: TableChanges): Promise<Applied> {
  const assignments = await ports.assignmentsOf(plan.label).read(changes.keys());
  const newAssignments = new Map<string, Assignment | null>();
  const problems: RowProblem[] = [];
  const toRead: string[] = [];
  for (const [id, change] of changes) {
    const assignment = await applyUser(ports, plan, { change, before: assignments.get(id) });
    if (assignment === 'read') toRead.push(id);
    else if (typeof assignment === 'string') problems.push({ table: plan.label, key: id, reason: assignment });
    else if (assignment !== undefined) newAssignments.set(id, assignment);
  }
  await ports.assignmentsOf(plan.label).write(newAssignments);
  await ports.problems.settle(plan.label, newAssignments.keys(), problems);
  return { toRead };
}

interface UserChange {
  readonly change: RowChange;
  readonly before: Assignment | undefined;
}

/** Returns the new assignment of the row, undefined where it stays as it was, `read`, or why the user is refused. */
async function applyUser(
  ports: UsersPorts,
  plan: UsersPlan,
  { change, before }: UserChange,
): Promise<Assignment | null | undefined | string> {
  const login = loginIn(plan, change, before);
  if (login === undefined) return 'read';
  let assignment: Assignment | null | undefined;
  if (change.kind === 'put' && login !== null) {
    const refusal = await save(ports, plan, { login, row: change.row, wasThere: before?.owner === login });
    if (refusal !== null) return refusal;
    assignment = { owner: login, extra: null };
  }
  if (before === undefined || before.owner === login) return assignment;
  if (before.owner !== null) await remove(ports, before.owner);
  return assignment ?? null;
}

/** Null: the row is no user; undefined: it has to be read. */
function loginIn(plan: UsersPlan, change: RowChange, before: Assignment | undefined): string | null | undefined {
  if (change.kind === 'delete') return null;
  const login = nameIn(change.row, plan.login);
  if (login !== undefined) return login || null;
  return change.isNew || before?.owner === null ? undefined : before?.owner;
}

interface Saved {
  readonly login: string;
  readonly row: Row;
  /** Whether the row named the user before. */
  readonly wasThere: boolean;
}

/** Returns why Tidemark does not take the user; null: it does. */
async function save(ports: UsersPorts, plan: UsersPlan, saved: Saved): Promise<string | null> {
  const { client, toJson } = ports;
  let attributes: Attributes;
  try {
    attributes = attributesOf(saved.row, plan.attributes, toJson);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  try {
    await client.users.update(saved.login, attributes).catch(async (error: unknown) => {
      if (!(error instanceof TidemarkError) || error.code !== 'user_not_found') throw error;
      await create(ports, saved, attributes);
    });
    return null;
  } catch (error) {
    if (error instanceof TidemarkError && (error.status === 400 || error.status === 422)) return error.message;
    throw error;
  }
}

async function create(
  { client, assignmentsOf, onReturn }: UsersPorts,
  { login, wasThere }: Saved,
  attributes: Attributes,
): Promise<void> {
  const made = assignmentsOf(MADE);
  const wasMade = (await made.read([login])).has(login);
  if (wasMade || wasThere) await onReturn(login);
  // Noted first, so that it is known after a crash who has created the user.
  await made.write(new Map([[login, { owner: login, extra: null }]]));
  // Nobody knows the password: people sign in through the identity provider, the backend or an invite.
  await client.users.create({ ...attributes, login, password: randomBytes(48).toString('base64url') });
}

/** Deletes a user whom the connector has created and whom no row names any more. */
async function remove({ client, assignmentsOf, isUser }: UsersPorts, login: string): Promise<void> {
  const made = assignmentsOf(MADE);
  const isMade = (await made.read([login])).get(login)?.owner === login;
  // If the other row is gone by now, its own deletion is still to come and is looked up again.
  if (!isMade || (await isUser(login))) return;
  try {
    await client.users.delete(login);
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.status !== 404) throw error;
  }
  await made.write(new Map([[login, { owner: null, extra: null }]]));
}
