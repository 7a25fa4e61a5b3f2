import {
  errorMessage,
  isInternalSource,
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
import { refs } from '../entries/refs.ts';
import { AdapterRefusal, type Adapters, LoggedFailure } from '../ports/adapter.ts';
import type { Log } from '../ports/log.ts';
import { groupOf, groupPartition, isSameOwner, type Owner, SHARED } from '../ports/owner.ts';
import type { Entry, EntryRef, EntryWrite, PartitionKey, Store } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { Groups, type GroupsPorts, indexWrites } from './groups.ts';
import { type MembershipCall, type NamedGroups, namedGroups } from './named-groups.ts';
import { NO_ADAPTER } from './source-record.ts';

export interface MembershipsPorts extends GroupsPorts {
  readonly log: Log;
  /** Absent: every user has their own partition. */
  readonly adapters?: Adapters;
}

/** Whose data of a source a user may read. It is the same as long as the version is the same. */
export interface ReadableOwners {
  readonly owners: readonly Owner[];
  /** Whose data the user could read before, the latest first: outcomes of uploads there may still have to be reported. */
  readonly earlier: readonly Owner[];
  readonly version: number;
}

/** The partition of a source that a call of a user is about. */
export interface UserPartition {
  readonly partition: PartitionKey;
  readonly earlier: readonly PartitionKey[];
}

/** The stored memberships of a user in a source of groups whose adapter names them. */
interface StoredGroups {
  readonly groups: readonly string[];
}

/** The same in a source of users. Null is the user's own partition. */
interface StoredPartition {
  readonly name: string | null;
  readonly earlier: readonly (string | null)[];
}

/**
 * Finds out whose data users may read. An adapter that decides it is asked every time, so that a user who was moved no
 * longer sees the former data. The last answer is stored for calls that must not ask, and to list the members of a group
 * when its data changes.
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

  /** Asks the adapter, if it decides. Rejects when the adapter fails, because then access is unknown. */
  async owners(source: PartitionedSource, user: string): Promise<ReadableOwners> {
    const ask = this.#ask(source);
    if (ask === null) return this.#undecidedOwners(source, user);
    return retryOnConflict(async () => {
      // What is known is read before the adapter is asked, so that an answer that comes late does not undo a later one.
      const known = await this.#read(source, user);
      const owners = await ask(user);
      return isEqual(known.owners, owners) ? known : this.#set(source, user, known, owners);
    });
  }

  /** The same by the last answer of the adapter. */
  async knownOwners(source: PartitionedSource, user: string): Promise<ReadableOwners> {
    return this.#ask(source) === null ? this.#undecidedOwners(source, user) : this.#read(source, user);
  }

  /**
   * The partition that a call of the user is about, after asking the adapter. A source of groups may have several: then the
   * call must name the group.
   */
  async partitionOf(source: PartitionedSource, user: string, group?: string): Promise<UserPartition> {
    const { owners, earlier } = await this.owners(source, user);
    const owner = source.partition_type === 'group' ? requireMember(source, owners, group) : owners[0];
    if (owner === undefined) throw new Error('a source without groups has an owner for every user');
    return { partition: { source: source.name, owner }, earlier: partitionsOf(source, earlier) };
  }

  /** All partitions that hold data of the user in the source, by the last answer of the adapter. */
  async knownPartitionsOf(source: PartitionedSource, user: string): Promise<readonly PartitionKey[]> {
    return partitionsOf(source, (await this.knownOwners(source, user)).owners);
  }

  /** The entry that exists while the user is a member of the group. */
  memberEntry(source: PartitionedSource, user: string, group: string): EntryRef {
    return this.#ask(source) === null ? refs.groupMember(group, user) : refs.member(source.name, group, user);
  }

  /** Whether the adapter of the source decides whose data a user reads. */
  areDecidedByAdapter(source: PartitionedSource): boolean {
    return this.#ask(source) !== null;
  }

  /** Lists the known members of a group, page by page. */
  async members(partition: PartitionKey, page: { readonly after?: string; readonly limit: number }) {
    const { source } = partition;
    if (isInternalSource(source)) return [];
    const name = groupOf(partition) ?? '';
    const view = await this.#sourceOf(source);
    if (view?.partition_type === 'group' && this.#ask(view) === null) return this.groups.members(name, page);
    const prefix = refs.member(source, name, '').key.slice(0, -1);
    const after = page.after === undefined ? {} : { after: [...prefix, page.after] };
    const entries = await this.#ports.store.listEntries({ kind: 'setting', prefix, limit: page.limit, ...after });
    return entries.map(({ key }) => lastOf(key));
  }

  /** The owners of a source whose adapter does not decide. */
  async #undecidedOwners({ name, partition_type }: PartitionedSource, user: string): Promise<ReadableOwners> {
    if (partition_type === 'app') return EVERYBODY;
    if (partition_type === 'user') return { owners: [{ kind: 'user', login: user }], earlier: [], version: 0 };
    // Its groups are not groups of users, though a user may be in one of the same name.
    if (isInternalSource(name)) return NOBODY;
    const { owners, version } = await this.groups.of(user);
    return { owners, earlier: [], version };
  }

  /** Returns null when the adapter of the source does not decide. */
  #ask(source: PartitionedSource): ((user: string) => Promise<readonly Owner[]>) | null {
    if (source.partition_type === 'app' || source.adapter === NO_ADAPTER) return null;
    const adapter = this.#ports.adapters?.find(source.adapter);
    const groups = adapter ? namedGroups(adapter, source) : null;
    if (groups === null) return null;
    return async (user) => ownersNamed(source, user, await this.#logged(groups, { source: source.name, user }));
  }

  async #logged(groups: NamedGroups, call: MembershipCall): Promise<readonly string[]> {
    try {
      return await groups(call);
    } catch (error) {
      const reason = errorMessage(error);
      const level = error instanceof LoggedFailure ? 'debug' : 'warn';
      this.#ports.log[level]('partition_not_told', { source: call.source, user: call.user, reason });
      if (error instanceof Refusal) throw error;
      if (error instanceof AdapterRefusal) throw new Refusal('backend_error', error.message);
      throw new Refusal('backend_error', 'the adapter of the source failed');
    }
  }

  async #read(source: PartitionedSource, user: string): Promise<ReadableOwners> {
    const entry = await this.#ports.store.readEntry(refs.membership(source.name, user));
    if (entry === null) return { owners: ownersNamed(source, user, []), earlier: [], version: 0 };
    const stored = parseJson(entry.value) as StoredGroups | StoredPartition;
    const earlier = 'groups' in stored ? [] : stored.earlier.map((name) => ownerNamed(user, name));
    return { owners: ownersNamed(source, user, namesIn(entry)), earlier, version: entry.version };
  }

  /** Null: the adapter has said something else to another call meanwhile, and must be asked again. */
  async #set(
    source: PartitionedSource,
    user: string,
    old: ReadableOwners,
    owners: readonly Owner[],
  ): Promise<ReadableOwners | null> {
    const writes: EntryWrite[] = [
      { ...refs.membership(source.name, user), value: storedText(source, old, owners), expect: old.version },
      ...indexWrites(groupNames(old.owners), groupNames(owners), (name) => refs.member(source.name, name, user)),
      // Deletions of the user or the source must see the new entries.
      ownerTouched('user', user),
      ownerTouched('source', source.name),
    ];
    const guards = [refs.source(source.name), refs.generation(user)];
    const result = await this.#ports.store.writeEntries({ writes, guards });
    if (result.status === 'gone') throw refuseGone(result.guard);
    const now = await this.#read(source, user);
    return result.status === 'written' || isEqual(now.owners, owners) ? now : null;
  }
}

const EVERYBODY: ReadableOwners = { owners: [SHARED], earlier: [], version: 0 };
const NOBODY: ReadableOwners = { owners: [], earlier: [], version: 0 };

/** The group by which devices and administrators tell the data of a source of groups apart; null: it has no groups. */
export function groupIn({ partition_type }: Pick<PartitionedSource, 'partition_type'>, owner: Owner): string | null {
  return partition_type === 'group' && owner.kind === 'group' ? owner.name : null;
}

/** The partitions of groups that a device names. A name that no group can have has no partition. */
export function groupPartitionsNamed(source: string, names: readonly string[]): readonly PartitionKey[] {
  const legal = names.filter((name) => nameProblem('group', name) === null);
  return legal.map((name) => groupPartition(source, name));
}

function requireMember(source: PartitionedSource, owners: readonly Owner[], group: string | undefined): Owner {
  if (group === undefined && owners.length === 1) return owners[0] as Owner;
  if (group === undefined) {
    const detail = `the data of ${quoted(source.name)} belongs to groups, and the user is in ${owners.length}`;
    throw new Refusal('group_required', `${detail}: name one`, [{ pointer: pointer('group'), detail: 'is needed' }]);
  }
  const owner = groupOwner(group);
  if (owners.some((one) => isSameOwner(one, owner))) return owner;
  throw new Refusal('not_a_member', `the user is not a member of the group ${quoted(group)}`);
}

function groupOwner(name: string): Owner {
  return { kind: 'group', name };
}

function ownerNamed(user: string, name: string | null): Owner {
  return name === null ? { kind: 'user', login: user } : groupOwner(name);
}

/** A user of a source of users who is in no group has their own data. */
function ownersNamed({ partition_type }: PartitionedSource, user: string, names: readonly string[]): readonly Owner[] {
  return names.length === 0 && partition_type === 'user' ? [ownerNamed(user, null)] : names.map(groupOwner);
}

function groupNames(owners: readonly Owner[]): readonly string[] {
  return owners.flatMap((owner) => (owner.kind === 'group' ? owner.name : []));
}

function partitionsOf({ name: source }: PartitionedSource, owners: readonly Owner[]): readonly PartitionKey[] {
  return owners.map((owner) => ({ source, owner }));
}

/** Of a source of users, it says whose data the user could read before. */
function storedText({ partition_type }: PartitionedSource, old: ReadableOwners, owners: readonly Owner[]): string {
  const names = groupNames(owners);
  if (partition_type === 'group') return JSON.stringify({ groups: names } satisfies StoredGroups);
  const name = names[0] ?? null;
  const before = [...old.owners, ...old.earlier].map((owner) => (owner.kind === 'group' ? owner.name : null));
  const earlier = before.filter((one, at) => one !== name && before.indexOf(one) === at);
  const stored: StoredPartition = { name, earlier: earlier.slice(0, MEMBERSHIPS_EARLIER_MAX) };
  return JSON.stringify(stored);
}

/** Returns the removals of a user's membership in a source. The partition itself stays. */
export async function membershipRemovals(store: Store, source: string, user: string): Promise<EntryWrite[]> {
  const entry = await store.readEntry(refs.membership(source, user));
  if (entry === null) return [];
  const members = indexWrites(namesIn(entry), [], (name) => refs.member(source, name, user));
  return [{ ...refs.membership(source, user), value: null }, ...members];
}

/** The groups in a stored membership. */
function namesIn({ value }: Entry): readonly string[] {
  const stored = parseJson(value) as StoredGroups | StoredPartition;
  if ('groups' in stored) return stored.groups;
  return stored.name === null ? [] : [stored.name];
}

function isEqual(left: readonly Owner[], right: readonly Owner[]): boolean {
  return left.length === right.length && left.every((one, index) => isSameOwner(one, right[index] as Owner));
}
