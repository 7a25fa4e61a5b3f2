import { errorMessage, MEMBERSHIPS_EARLIER_MAX, nameProblem, parseJson, Refusal } from '@tidemark/protocol';
import { customNameOf, customOwner, type PartitionedSource } from '../admission/custom-partition.ts';
import { refuseGone } from '../admission/refuse-gone.ts';
import { lastOf, ownerTouched } from '../entries/owner-index.ts';
import { PRESENT, refs } from '../entries/refs.ts';
import { type Adapter, AdapterRefusal, type Adapters, LoggedFailure } from '../ports/adapter.ts';
import type { Log } from '../ports/log.ts';
import type { Entry, EntryWrite, PartitionKey, Store } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';

export interface MembershipsPorts {
  readonly store: Store;
  readonly log: Log;
  /** Absent: every user has their own partition. */
  readonly adapters?: Adapters;
}

/** The partition that holds a user's data of a source. */
export interface UserPartition {
  readonly partition: PartitionKey;
  /** Earlier partitions, newest first: outcomes of uploads there may still have to be reported. */
  readonly earlier: readonly PartitionKey[];
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
  readonly #ports: MembershipsPorts;

  constructor(ports: MembershipsPorts) {
    this.#ports = ports;
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

  /** Whether the adapter of the source decides which partition a user's data is in. */
  areCustom(source: PartitionedSource): boolean {
    return this.#ask(source) !== null;
  }

  /** Returns the last answer of the adapter without asking it. */
  async knownPartitionOf(source: PartitionedSource, user: string): Promise<UserPartition> {
    if (this.#ask(source) === null) return ownPartition(source, user);
    return partitionFrom(source.name, user, (await this.#read(source.name, user)).membership);
  }

  /** Lists the known users of a custom partition, page by page. */
  async members({ source, user: owner }: PartitionKey, page: { readonly after?: string; readonly limit: number }) {
    const prefix = refs.member(source, customNameOf(owner) ?? '', '').key.slice(0, -1);
    const after = page.after === undefined ? {} : { after: [...prefix, page.after] };
    const entries = await this.#ports.store.listEntries({ kind: 'setting', prefix, limit: page.limit, ...after });
    return entries.map(({ key }) => lastOf(key));
  }

  /** Returns null when the source's adapter does not name partitions. */
  #ask(source: PartitionedSource): ((user: string) => Promise<string | null>) | null {
    const adapter = source.partition_type === 'app' ? null : this.#ports.adapters?.find(source.adapter);
    if (!adapter?.partition) return null;
    return (user) => this.#answerOf(adapter, { source: source.name, user });
  }

  async #answerOf(adapter: Adapter, call: { readonly source: string; readonly user: string }): Promise<string | null> {
    try {
      const name: unknown = (await adapter.partition?.(call)) ?? null;
      if (name === null || (typeof name === 'string' && nameProblem('partition', name) === null))
        return name as string | null;
    } catch (error) {
      const reason = errorMessage(error);
      const level = error instanceof LoggedFailure ? 'debug' : 'warn';
      this.#ports.log[level]('partition_not_told', { source: call.source, user: call.user, reason });
      if (error instanceof Refusal) throw error;
      if (error instanceof AdapterRefusal) throw new Refusal('backend_error', error.message);
      throw new Refusal('backend_error', 'the adapter of the source failed');
    }
    throw new Refusal('backend_error', 'the adapter of the source returned an invalid partition name');
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
      const guards = [refs.source(source), refs.life(user)];
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
  const { name } = readMembership(entry);
  const member = name === null ? [] : [{ ...refs.member(source, name, user), value: null }];
  return [{ ...refs.membership(source, user), value: null }, ...member];
}

function readMembership({ value }: Entry): Membership {
  return parseJson(value) as Membership;
}

function ownPartition({ name, partition_type }: PartitionedSource, user: string): UserPartition {
  return { partition: { source: name, user: partition_type === 'app' ? null : user }, earlier: [] };
}

function partitionFrom(source: string, user: string, { name, earlier }: Membership): UserPartition {
  const keyOf = (one: string | null): PartitionKey => ({ source, user: one === null ? user : customOwner(one) });
  return { partition: keyOf(name), earlier: earlier.map(keyOf) };
}
