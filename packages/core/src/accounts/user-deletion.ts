import { type OwnerVersion, ownerRemoved } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import { userPartition } from '../ports/owner.ts';
import type { Entry, EntryBatch, EntryRef, EntryWrite, PartitionKey } from '../ports/store.ts';
import { type OwnedToken, tokenRemovals } from './token-record.ts';

export interface UserToDelete {
  readonly login: string;
  readonly entry: Entry;
  readonly owner: OwnerVersion;
  readonly clients: readonly string[];
  readonly tokens: readonly OwnedToken[];
  /** All sources, because the user may have a partition in each. */
  readonly sources: readonly string[];
  /** Removals of the user's memberships and remembered logins. */
  readonly traces: readonly EntryWrite[];
  /** Another administrator, who must still exist when the user is an administrator; else null. */
  readonly successor: EntryRef | null;
}

/** Returns the batch that deletes a user with everything that belongs to the user. */
export function userDeletion(doomed: UserToDelete): EntryBatch {
  const { login, entry, clients, tokens, sources, traces, owner, successor } = doomed;
  const writes: EntryWrite[] = [
    { ...refs.user(login), value: null, expect: entry.version },
    { ...refs.generation(login), value: null },
    { ...refs.admin(login), value: null },
    { ...refs.fileUsage(login), value: null },
    ownerRemoved(owner),
    ...clients.flatMap((id) => clientRemovals(login, id)),
    ...tokenRemovals(login, tokens),
    ...sources.flatMap((source) => partitionRemovals(userPartition(source, login))),
    ...traces,
  ];
  return { writes, guards: successor === null ? [] : [successor], erase: { users: [login], clients } };
}

function partitionRemovals(partition: PartitionKey): EntryWrite[] {
  const kept = [refs.refreshAt(partition), refs.refresh(partition), refs.noticed(partition)];
  return kept.map((ref) => ({ ...ref, value: null }));
}

function clientRemovals(login: string, id: string): EntryWrite[] {
  return [refs.client(id), refs.userClient(login, id), refs.ownerVersion('client', id)].map((ref) => ({
    ...ref,
    value: null,
  }));
}
