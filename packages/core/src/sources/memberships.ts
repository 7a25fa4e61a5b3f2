import {
  errorMessage,
  GROUPS_PER_USER_MAX,
  MEMBERSHIPS_EARLIER_MAX,
  nameProblem,
  parseJson,
  pointer,
  Refusal,
} from '@tidemark/protocol';
import { quoted } from '../admission/admit-name.ts';
import type { PartitionedSource } from '../admission/partitioned-source.ts';
import { refuseGone } from '../admission/refuse-gone.ts';
import { lastOf, ownerTouched } from '../entries/owner-index.ts';
import { PRESENT, refs } from '../entries/refs.ts';
import { type Adapter, AdapterRefusal, type Adapters, LoggedFailure } from '../ports/adapter.ts';
import type { Log } from '../ports/log.ts';
import { groupOf, groupPartition, sharedPartition, userPartition } from '../ports/owner.ts';
import type { Entry, EntryRef, EntryWrite, PartitionKey, Store } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { Groups, type GroupsPorts, indexWrites } from './groups.ts';

export interface MembershipsPorts extends GroupsPorts {
  readonly log: Log;
  /** Absent: every user has their own partition. */
  readonly adapters?: Adapters;
}

interface MembershipCall {
  readonly source: string;
  readonly user: string;
}

/** The partition that holds a user's data of a source. */
export interface UserPartition {
  readonly partition: PartitionKey;
  /** Earlier partitions, newest first: outcomes of uploads there may still have to be reported. */
  readonly earlier: readonly PartitionKey[];
}

/** The groups of a user in a source. They are the same as long as `version` is the same. */
export interface SourceGroups {
  readonly groups: readonly string[];
  readonly version: number;
}

/** The stored groups of a user in a source whose adapter names them. */
interface NamedGroups {
  readonly groups: readonly string[];
}

/** The stored membership of a user in a source whose adapter names partitions. Null is the user's own partition. */
interface Membership {
  readonly name: string | null;
  readonly earlier: readonly (string | null)[];
}

/**
 * Finds the partition of a user's data. An adapter with `partition` is asked every time, so that a user who was moved no
 * longer sees the former partition. The last answer is stored for calls that must not ask, and to list the members of a
 * partition when it changes.
 */
export class Memberships {
  readonly groups: Groups;
  readonly #ports: MembershipsPorts;
  readonly #sourceOf: (name: string) => Promise<PartitionedSource | null>;

  constructor(ports: MembershipsPorts, sourceOf: (name: string) => Promise<PartitionedSource | null>) {
    this.#ports = ports;
    this.#sourceOf = sourceOf;
    this.groups = new Groups(ports);
  }

  /** Asks the adapter, if it names partitions. Rejects when the adapter fails, because then access is unknown. */
  async partitionOf(source: PartitionedSource, user: string): Promise<UserPartition> {
    const ask = this.#ask(source);
    if (ask === null) return ownPartition(source, user);
    const name = await ask(user);
    const known = await this.#read(source.name, user);
    const isKnown = known.entry !== null && known.membership.name === name;
    const membership = isKnown ? known.membership : await this.#move(source.name, user, name);
    return partitionFrom(source.name, user, membership);
  }

  /** The groups of a user in a source of groups. An adapter that names them is asked. */
  async groupsOf(source: PartitionedSource, user: string): Promise<SourceGroups> {
    const ask = this.#askGroups(source);
    if (ask === null) return this.groups.of(user);
    const groups = await ask(user);
    const known = await this.#readGroups(source.name, user);
    return isEqual(known.groups, groups) ? known : this.#setGroups(source.name, user, groups);
  }

  /** The same by the last answer of the adapter. */
  async knownGroupsOf(source: PartitionedSource, user: string): Promise<SourceGroups> {
    if (this.#askGroups(source) === null) return this.groups.of(user);
    return this.#readGroups(source.name, user);
  }

  /** Rejects unless the user is a member of the group. Without a group, it is the only one of the user. */
  async requireGroup(source: PartitionedSource, user: string, group: string | undefined): Promise<string> {
    const { groups } = await this.groupsOf(source, user);
    const [only] = groups;
    if (group === undefined && groups.length === 1 && only !== undefined) return only;
    if (group === undefined) {
      const detail = `the data of ${quoted(source.name)} belongs to groups, and the user is in ${groups.length}`;
      throw new Refusal('group_required', `${detail}: name one`, [{ pointer: pointer('group'), detail: 'is needed' }]);
    }
    if (groups.includes(group)) return group;
    throw new Refusal('not_a_member', `the user is not a member of the group ${quoted(group)}`);
  }

  /** The entry that exists while the user is a member of the group. */
  memberEntry(source: PartitionedSource, user: string, group: string): EntryRef {
    return this.#askGroups(source) === null ? refs.groupMember(group, user) : refs.member(source.name, group, user);
  }

  /** All partitions that hold data of the user in the source, by the last answer of the adapter. */
  async knownPartitionsOf(source: PartitionedSource, user: string): Promise<readonly PartitionKey[]> {
    if (source.partition_type !== 'group') return [(await this.knownPartitionOf(source, user)).partition];
    return (await this.knownGroupsOf(source, user)).groups.map((group) => groupPartition(source.name, group));
  }

  /** Whether the adapter of the source decides which partition a user's data is in. */
  areCustom(source: PartitionedSource): boolean {
    return this.#ask(source) !== null;
  }

  /** Returns the last answer of the adapter without asking it. */
  async knownPartitionOf(source: PartitionedSource, user: string): Promise<UserPartition> {
    if (this.#ask(source) === null) return ownPartition(source, user);
    return partitionFrom(source.name, user, (await this.#read(source.name, user)).membership);
  }

  /** Lists the known users of a custom partition or group, page by page. */
  async members(partition: PartitionKey, page: { readonly after?: string; readonly limit: number }) {
    const { source } = partition;
    const name = groupOf(partition) ?? '';
    const view = await this.#sourceOf(source);
    if (view?.partition_type === 'group' && this.#askGroups(view) === null) {
      return this.groups.members(name, page);
    }
    const prefix = refs.member(source, name, '').key.slice(0, -1);
    const after = page.after === undefined ? {} : { after: [...prefix, page.after] };
    const entries = await this.#ports.store.listEntries({ kind: 'setting', prefix, limit: page.limit, ...after });
    return entries.map(({ key }) => lastOf(key));
  }

  /** Returns null when the source's adapter does not name partitions. A source of groups has none that is the user's. */
  #ask(source: PartitionedSource): ((user: string) => Promise<string | null>) | null {
    if (source.partition_type === 'group') {
      const detail = `the data of ${quoted(source.name)} belongs to groups: name one`;
      throw new Refusal('group_required', detail, [{ pointer: pointer('group'), detail: 'is needed' }]);
    }
    const adapter = source.partition_type === 'app' ? null : this.#ports.adapters?.find(source.adapter);
    if (!adapter?.partition) return null;
    return (user) => this.#answerOf(adapter, { source: source.name, user });
  }

  /** Returns null when the source's adapter does not name groups. A `partition(user)` names one group, or none. */
  #askGroups(source: PartitionedSource): ((user: string) => Promise<readonly string[]>) | null {
    const adapter = this.#ports.adapters?.find(source.adapter);
    if (!adapter?.groups && !adapter?.partition) return null;
    return async (user) => {
      const call = { source: source.name, user };
      if (!adapter.groups) return [await this.#answerOf(adapter, call)].flatMap((name) => name ?? []);
      return this.#groupsIn(await this.#called(call, () => adapter.groups?.(call)));
    };
  }

  #groupsIn(answer: unknown): readonly string[] {
    const names: readonly unknown[] = Array.isArray(answer) ? answer : [null];
    const isLegal = names.every((name) => typeof name === 'string' && nameProblem('group', name) === null);
    const groups = [...new Set(names as string[])].sort();
    if (isLegal && groups.length <= GROUPS_PER_USER_MAX) return groups;
    const detail = `must return a list of at most ${GROUPS_PER_USER_MAX} names of groups`;
    throw new Refusal('backend_error', `groups() of the source ${detail}`);
  }

  async #answerOf(adapter: Adapter, call: MembershipCall): Promise<string | null> {
    const name: unknown = (await this.#called(call, () => adapter.partition?.(call))) ?? null;
    if (name === null || (typeof name === 'string' && nameProblem('partition', name) === null)) return name;
    throw new Refusal('backend_error', 'the adapter of the source returned an invalid partition name');
  }

  async #called<T>(call: MembershipCall, work: () => Promise<T> | undefined): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      const reason = errorMessage(error);
      const level = error instanceof LoggedFailure ? 'debug' : 'warn';
      this.#ports.log[level]('partition_not_told', { source: call.source, user: call.user, reason });
      if (error instanceof Refusal) throw error;
      if (error instanceof AdapterRefusal) throw new Refusal('backend_error', error.message);
      throw new Refusal('backend_error', 'the adapter of the source failed');
    }
  }

  async #readGroups(source: string, user: string): Promise<SourceGroups> {
    const entry = await this.#ports.store.readEntry(refs.membership(source, user));
    return entry === null ? { groups: [], version: 0 } : { groups: readGroups(entry), version: entry.version };
  }

  #setGroups(source: string, user: string, groups: readonly string[]): Promise<SourceGroups> {
    return retryOnConflict(async () => {
      const old = await this.#readGroups(source, user);
      if (isEqual(old.groups, groups)) return old;
      const value: NamedGroups = { groups };
      const writes: EntryWrite[] = [
        { ...refs.membership(source, user), value: JSON.stringify(value), expect: old.version },
        ...indexWrites(old.groups, groups, (group) => refs.member(source, group, user)),
        // Deletions of the user or the source must see the new entries.
        ownerTouched('user', user),
        ownerTouched('source', source),
      ];
      const result = await this.#ports.store.writeEntries({
        writes,
        guards: [refs.source(source), refs.generation(user)],
      });
      if (result.status === 'gone') throw refuseGone(result.guard);
      return result.status === 'written' ? this.#readGroups(source, user) : null;
    });
  }

  async #read(
    source: string,
    user: string,
  ): Promise<{ readonly membership: Membership; readonly entry: Entry | null }> {
    const entry = await this.#ports.store.readEntry(refs.membership(source, user));
    return { entry, membership: entry === null ? NEVER_MOVED : readMembership(entry) };
  }

  #move(source: string, user: string, name: string | null): Promise<Membership> {
    return retryOnConflict(async () => {
      const { membership: old, entry } = await this.#read(source, user);
      if (entry !== null && old.name === name) return old;
      const earlier = [old.name, ...old.earlier].filter((one, at, all) => one !== name && all.indexOf(one) === at);
      const membership = { name, earlier: earlier.slice(0, MEMBERSHIPS_EARLIER_MAX) };
      const writes: EntryWrite[] = [
        { ...refs.membership(source, user), value: JSON.stringify(membership), expect: entry?.version ?? 0 },
        ...(old.name === null ? [] : [{ ...refs.member(source, old.name, user), value: null }]),
        ...(name === null ? [] : [{ ...refs.member(source, name, user), value: PRESENT }]),
        // Deletions of the user or the source must see the new entries.
        ownerTouched('user', user),
        ownerTouched('source', source),
      ];
      const guards = [refs.source(source), refs.generation(user)];
      const result = await this.#ports.store.writeEntries({ writes, guards });
      if (result.status === 'gone') throw refuseGone(result.guard);
      return result.status === 'written' ? membership : null;
    });
  }
}

/** The membership before the adapter was asked for the first time: the user's own partition. */
const NEVER_MOVED: Membership = { name: null, earlier: [] };

/** Returns the removals of a user's membership in a source. The partition itself stays. */
export async function membershipRemovals(store: Store, source: string, user: string): Promise<EntryWrite[]> {
  const entry = await store.readEntry(refs.membership(source, user));
  if (entry === null) return [];
  const names = readGroups(entry);
  const members = indexWrites(names, [], (name) => refs.member(source, name, user));
  return [{ ...refs.membership(source, user), value: null }, ...members];
}

/** The groups or the custom partition in a stored membership. */
function readGroups({ value }: Entry): readonly string[] {
  const stored = parseJson(value) as NamedGroups | Membership;
  if ('groups' in stored) return stored.groups;
  return stored.name === null ? [] : [stored.name];
}

function isEqual(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((one, index) => one === right[index]);
}

function readMembership({ value }: Entry): Membership {
  return parseJson(value) as Membership;
}

function ownPartition({ name, partition_type }: PartitionedSource, user: string): UserPartition {
  return { partition: partition_type === 'app' ? sharedPartition(name) : userPartition(name, user), earlier: [] };
}

function partitionFrom(source: string, user: string, { name, earlier }: Membership): UserPartition {
  const keyOf = (one: string | null) => (one === null ? userPartition(source, user) : groupPartition(source, one));
  return { partition: keyOf(name), earlier: earlier.map(keyOf) };
}
