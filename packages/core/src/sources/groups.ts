import {
  DETAILS_LIST_MAX,
  GROUP_MEMBERS_PER_CALL_MAX,
  GROUPS_PER_USER_MAX,
  LIST_MAX,
  parseJson,
  pointer,
  Refusal,
} from '@tidemark/protocol';
import { admitName, quoted } from '../admission/admit-name.ts';
import { GROUP_MEMBER, refuseGone } from '../admission/refuse-gone.ts';
import { allEntries } from '../entries/all-entries.ts';
import { lastOf, ownerTouched } from '../entries/owner-index.ts';
import { ParsedEntryCache } from '../entries/parsed-entry-cache.ts';
import { PRESENT, refs } from '../entries/refs.ts';
import type { Owner } from '../ports/owner.ts';
import type { Entry, EntryWrite, Store } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';

export interface GroupsPorts {
  readonly store: Store;
  /** Called after the groups of a user have changed. */
  readonly onGroupsChanged?: (user: string) => void;
}

/** The groups of a user, sorted. The version is another one after every change; 0: the user never had a group. */
export interface UserGroups {
  readonly groups: readonly string[];
  /** The same groups. */
  readonly owners: readonly Owner[];
  readonly version: number;
}

export interface GroupsView {
  readonly user_id: string;
  readonly groups: readonly string[];
}

export interface MembersReport {
  readonly group: string;
  readonly added: number;
  readonly removed: number;
}

interface ListPage {
  readonly after?: string;
  readonly limit?: number;
}

/** A group with the number of its members. */
export interface GroupDetails {
  readonly group: string;
  readonly members: number;
}

const MEMBERS_PER_READ = 1_000;
const DETAILS_PER_PAGE = 100;

/** Sorts after every name that begins a key, because names contain no control characters. */
const AFTER_NAME = '\u0001';

/**
 * Who is a member of which group. A group exists while it has members: it is a name, and needs no declaration. The groups
 * of a user are one entry, which changes in one step together with the index from groups to users.
 */
export class Groups {
  readonly #ports: GroupsPorts;
  readonly #parsed = new ParsedEntryCache((_user, entry) => groupsIn(entry));

  constructor(ports: GroupsPorts) {
    this.#ports = ports;
  }

  /** The groups of a user, whether the user exists or not. */
  async of(user: string): Promise<UserGroups> {
    const entry = await this.#ports.store.readEntry(refs.groups(user));
    return entry === null ? NO_GROUPS : this.#parsed.of(user, entry);
  }

  async get(userId: unknown): Promise<GroupsView> {
    const user = await this.#requireUser(userId);
    return { user_id: user, groups: (await this.of(user)).groups };
  }

  /** Makes the user a member of exactly these groups. */
  async set(userId: unknown, groups: unknown): Promise<GroupsView> {
    const wanted = admitGroups(groups);
    return this.#change(userId, () => wanted);
  }

  async add(userId: unknown, groups: unknown): Promise<GroupsView> {
    const added = admitGroups(groups);
    return this.#change(userId, (old) => [...old, ...added]);
  }

  async remove(userId: unknown, groups: unknown): Promise<GroupsView> {
    const removed = new Set(admitGroups(groups));
    return this.#change(userId, (old) => old.filter((group) => !removed.has(group)));
  }

  /** Lists the members of a group, sorted. */
  async members(name: unknown, { after, limit = LIST_MAX }: ListPage = {}): Promise<readonly string[]> {
    const group = admitName('group', name, pointer('group'));
    const list = { prefix: [GROUP_MEMBER, group], limit: admitLimit(limit) };
    const from =
      after === undefined ? {} : { after: [GROUP_MEMBER, group, admitName('login', after, pointer('after'))] };
    const entries = await this.#ports.store.listEntries({ kind: 'setting', ...list, ...from });
    return entries.map(({ key }) => lastOf(key));
  }

  /** Lists the groups that have members, sorted. It skips the members of a group that fills a whole read. */
  async list({ after, limit = LIST_MAX }: ListPage = {}): Promise<readonly string[]> {
    const groups = new Set<string>();
    admitLimit(limit);
    let last = after === undefined ? null : admitName('group', after, pointer('after'));
    for (let isMore = true; isMore && groups.size < limit; ) {
      const from = last === null ? {} : { after: [GROUP_MEMBER, `${last}${AFTER_NAME}`] };
      const list = { kind: 'setting', prefix: [GROUP_MEMBER], limit: MEMBERS_PER_READ, ...from } as const;
      const entries = await this.#ports.store.listEntries(list);
      for (const { key } of entries) groups.add(key[1] ?? '');
      last = entries.at(-1)?.key[1] ?? null;
      isMore = entries.length === MEMBERS_PER_READ;
    }
    return [...groups].slice(0, limit);
  }

  /** A page of the groups that have members, sorted, with how many they have. */
  async details({ limit = DETAILS_PER_PAGE, ...page }: ListPage = {}): Promise<readonly GroupDetails[]> {
    admitLimit(limit, DETAILS_LIST_MAX);
    const groups = await this.list({ ...page, limit });
    const members = await Promise.all(
      groups.map((group) => this.#ports.store.countEntries('setting', [GROUP_MEMBER, group])),
    );
    return groups.map((group, index) => ({ group, members: members[index] ?? 0 }));
  }

  /**
   * Makes exactly these users the members of a group. Each user is changed in one step, all of them are not: after a
   * failure in between the call can be repeated.
   */
  async setMembers(name: unknown, userIds: unknown): Promise<MembersReport> {
    const group = admitName('group', name, pointer('group'));
    const wanted = new Set(admitNames('login', userIds, 'members', GROUP_MEMBERS_PER_CALL_MAX));
    for (const user of wanted) await this.#requireUser(user, pointer('members'));
    const present = new Set<string>();
    for await (const { key } of allEntries(this.#ports.store, 'setting', [GROUP_MEMBER, group]))
      present.add(lastOf(key));
    const added = [...wanted].filter((user) => !present.has(user));
    const removed = [...present].filter((user) => !wanted.has(user));
    for (const user of added) await this.#change(user, (old) => [...old, group]);
    for (const user of removed) await this.#change(user, (old) => old.filter((one) => one !== group));
    return { group, added: added.length, removed: removed.length };
  }

  async #change(userId: unknown, next: (old: readonly string[]) => readonly string[]): Promise<GroupsView> {
    const user = await this.#requireUser(userId);
    const { groups, isChanged } = await retryOnConflict(() => this.#tryChange(user, next));
    if (isChanged) this.#ports.onGroupsChanged?.(user);
    return { user_id: user, groups };
  }

  /** Null: somebody else has changed the groups of the user meanwhile. */
  async #tryChange(user: string, next: (old: readonly string[]) => readonly string[]) {
    const entry = await this.#ports.store.readEntry(refs.groups(user));
    const { groups: old } = groupsIn(entry);
    const groups = [...new Set(next(old))].sort();
    requireRoom(groups.length);
    const writes = indexWrites(old, groups, (group) => refs.groupMember(group, user));
    if (writes.length === 0) return { groups, isChanged: false };
    writes.push({ ...refs.groups(user), value: JSON.stringify(groups), expect: entry?.version ?? 0 });
    // A deletion of the user must see the new entries.
    writes.push(ownerTouched('user', user));
    const result = await this.#ports.store.writeEntries({ writes, guards: [refs.generation(user)] });
    if (result.status === 'gone') throw refuseGone(result.guard);
    return result.status === 'written' ? { groups, isChanged: true } : null;
  }

  async #requireUser(userId: unknown, at = pointer('user_id')): Promise<string> {
    const user = admitName('login', userId, at);
    if ((await this.#ports.store.readEntry(refs.user(user))) !== null) return user;
    throw new Refusal('user_not_found', `there is no user ${quoted(user)}`);
  }
}

/** Checks a list of groups. A group given twice counts once. */
function admitGroups(groups: unknown): readonly string[] {
  const names = admitNames('group', groups, 'groups', GROUPS_PER_USER_MAX);
  return [...new Set(names)].sort();
}

/** The writes that bring an index of group members from the old groups of a user to the new ones. */
export function indexWrites(
  old: readonly string[],
  now: readonly string[],
  ref: (group: string) => Pick<EntryWrite, 'kind' | 'key'>,
): EntryWrite[] {
  const before = new Set(old);
  const after = new Set(now);
  return [
    ...old.filter((group) => !after.has(group)).map((group) => ({ ...ref(group), value: null })),
    ...now.filter((group) => !before.has(group)).map((group) => ({ ...ref(group), value: PRESENT })),
  ];
}

/** Returns the removals of all memberships of a user. The data of the groups stays. */
export async function groupRemovals(store: Store, user: string): Promise<EntryWrite[]> {
  const entry = await store.readEntry(refs.groups(user));
  if (entry === null) return [];
  const members = indexWrites(groupsIn(entry).groups, [], (group) => refs.groupMember(group, user));
  return [{ ...refs.groups(user), value: null }, ...members];
}

const NO_GROUPS: UserGroups = { groups: [], owners: [], version: 0 };

function groupsIn(entry: Entry | null): UserGroups {
  if (entry === null) return NO_GROUPS;
  const groups = parseJson(entry.value) as readonly string[];
  return { groups, owners: groups.map((name) => ({ kind: 'group', name })), version: entry.version };
}

function requireRoom(count: number): void {
  if (count <= GROUPS_PER_USER_MAX) return;
  const detail = `${count} groups are more than the ${GROUPS_PER_USER_MAX} that one user can be in`;
  throw new Refusal('limit_exceeded', detail, [{ pointer: pointer('groups'), detail }]);
}

function admitNames(kind: 'group' | 'login', given: unknown, field: string, max: number): readonly string[] {
  if (!Array.isArray(given)) {
    const detail = 'must be a list of names';
    throw new Refusal('invalid_request', `${field} ${detail}`, [{ pointer: pointer(field), detail }]);
  }
  if (given.length > max) {
    const detail = `${given.length} names are more than the ${max} allowed`;
    throw new Refusal('limit_exceeded', detail, [{ pointer: pointer(field), detail }]);
  }
  return given.map((name, index) => admitName(kind, name, pointer(field, index)));
}

function admitLimit(limit: number, max = LIST_MAX): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= max) return limit;
  const detail = `must be a whole number from 1 to ${max}`;
  throw new Refusal('invalid_value', `limit ${detail}`, [{ pointer: pointer('limit'), detail }]);
}
