import { GROUPS_PER_USER_MAX, nameProblem, Refusal } from '@tidemark/protocol';
import type { PartitionedSource } from '../admission/partitioned-source.ts';
import type { Adapter } from '../ports/adapter.ts';

/** The user of a source whose groups are asked for. */
export interface MembershipCall {
  readonly source: string;
  readonly user: string;
}

/** Asks an adapter for the groups of a user. Rejects when it names none that are allowed. */
export type NamedGroups = (call: MembershipCall) => Promise<readonly string[]>;

/** The question that an adapter answers for this source; null: it does not decide. A `partition` is a list of one group. */
export function namedGroups(adapter: Adapter, { partition_type }: PartitionedSource): NamedGroups | null {
  if (partition_type === 'group' && adapter.groups) return async (call) => admitGroups(await adapter.groups?.(call));
  if (adapter.partition) return async (call) => admitPartition(await adapter.partition?.(call));
  return null;
}

function admitGroups(answer: unknown): readonly string[] {
  const names: readonly unknown[] = Array.isArray(answer) ? answer : [null];
  const isLegal = names.every((name) => typeof name === 'string' && nameProblem('group', name) === null);
  const groups = [...new Set(names as string[])].sort();
  if (isLegal && groups.length <= GROUPS_PER_USER_MAX) return groups;
  const detail = `must return a list of at most ${GROUPS_PER_USER_MAX} names of groups`;
  throw new Refusal('backend_error', `groups() of the source ${detail}`);
}

function admitPartition(answer: unknown): readonly string[] {
  const name = answer ?? null;
  if (name === null) return [];
  if (typeof name === 'string' && nameProblem('partition', name) === null) return [name];
  throw new Refusal('backend_error', 'the adapter of the source returned an invalid partition name');
}
