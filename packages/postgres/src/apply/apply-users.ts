import { randomBytes } from 'node:crypto';
import { TidemarkError } from '@tidemark/backend';
import type { UsersPlan } from '../mapping/plan.ts';
import type { Applied, ApplyPorts } from './apply-ports.ts';
import { attributesOf } from './attributes.ts';
import type { RowChange, TableChanges } from './batch.ts';
import type { Place } from './places.ts';
import type { RowProblem } from './problems.ts';
import type { Row } from './row.ts';

const MADE = 'made';

/** Applies changes of a table whose rows become users. Users whom somebody else has created are never deleted. */
export async function applyUsers(ports: ApplyPorts, plan: UsersPlan, changes: TableChanges): Promise<Applied> {
  const places = await ports.placesOf(plan.label).read(changes.keys());
  const newPlaces = new Map<string, Place | null>();
  const problems: RowProblem[] = [];
  const toRead: string[] = [];
  for (const [id, change] of changes) {
    const place = await applyUser(ports, plan, { id, change, before: places.get(id) });
    if (place === 'read') toRead.push(id);
    else if (typeof place === 'string') problems.push({ table: plan.label, key: id, reason: place });
    else if (place !== undefined) newPlaces.set(id, place);
  }
  await ports.placesOf(plan.label).write(newPlaces);
  await ports.problems.settle(plan.label, newPlaces.keys(), problems);
  return { toRead, moved: [] };
}

interface UserChange {
  readonly id: string;
  readonly change: RowChange;
  readonly before: Place | undefined;
}

/** Returns the new place of the row, undefined where it stays as it was, `read`, or why the user is refused. */
async function applyUser(
  ports: ApplyPorts,
  plan: UsersPlan,
  { id, change, before }: UserChange,
): Promise<Place | null | undefined | string> {
  const login = loginIn(plan, change, before);
  if (login === undefined) return 'read';
  let place: Place | null | undefined;
  if (change.kind === 'put' && login !== null) {
    const saved = await save(ports, plan, { id, login, row: change.row, wasMade: isMade(before, login) });
    if (typeof saved === 'string') return saved;
    place = { owner: login, extra: saved.isMade ? MADE : null };
  }
  if (before === undefined || before.owner === login) return place;
  if (before.owner !== null && before.extra === MADE) await remove(ports, before.owner);
  return place ?? null;
}

/** Null: the row is no user; undefined: it has to be read. */
function loginIn(plan: UsersPlan, change: RowChange, before: Place | undefined): string | null | undefined {
  if (change.kind === 'delete') return null;
  const login = change.row.get(plan.login.name);
  if (login !== undefined) return login || null;
  return change.isNew || before?.owner === null ? undefined : before?.owner;
}

function isMade(before: Place | undefined, login: string): boolean {
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
  { client, toJson, placesOf }: ApplyPorts,
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
      await placesOf(plan.label).write(new Map([[id, { owner: login, extra: MADE }]]));
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
