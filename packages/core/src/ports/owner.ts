/** Whose data a partition holds: everybody's, that of one user, or that of one group. */
export type Owner =
  | { readonly kind: 'shared' }
  | { readonly kind: 'user'; readonly login: string }
  | { readonly kind: 'group'; readonly name: string };

/** The data of a source that one owner has. */
export interface PartitionKey {
  readonly source: string;
  readonly owner: Owner;
}

export const SHARED: Owner = { kind: 'shared' };

export function sharedPartition(source: string): PartitionKey {
  return { source, owner: SHARED };
}

export function userPartition(source: string, login: string): PartitionKey {
  return { source, owner: { kind: 'user', login } };
}

export function groupPartition(source: string, name: string): PartitionKey {
  return { source, owner: { kind: 'group', name } };
}

/** The name of the group that owns the partition; null: it belongs to a user or to everybody. */
export function groupOf({ owner }: PartitionKey): string | null {
  return owner.kind === 'group' ? owner.name : null;
}

/** The first character of the text of a group. Logins hold no control characters, so none looks like a group. */
const GROUP_MARK = '\u001f';

/** The owner as engines, jobs and exports keep it: null for shared data. Only this file knows what the text means. */
export function ownerText(owner: Owner): string | null {
  if (owner.kind === 'shared') return null;
  return owner.kind === 'user' ? owner.login : `${GROUP_MARK}${owner.name}`;
}

export function readOwner(text: string | null): Owner {
  if (text === null) return SHARED;
  if (!text.startsWith(GROUP_MARK)) return { kind: 'user', login: text };
  return { kind: 'group', name: text.slice(GROUP_MARK.length) };
}

export function isSameOwner(left: Owner, right: Owner): boolean {
  if (left.kind === 'user') return right.kind === 'user' && left.login === right.login;
  if (left.kind === 'group') return right.kind === 'group' && left.name === right.name;
  return right.kind === 'shared';
}

/** Tells whether an owner is one of these. */
export function oneOf(owners: readonly Owner[]): (owner: Owner) => boolean {
  const texts = new Set(owners.map(ownerText));
  return (owner) => texts.has(ownerText(owner));
}

/** Names a partition by a text, to find it in a map. Names contain no line breaks, so each partition has its own. */
export function partitionName({ source, owner }: PartitionKey): string {
  return `${source}\n${ownerText(owner) ?? ''}`;
}

/** The names that identify a partition, as all engines order and store them. Those of a user share a prefix. */
export function partitionParts({ source, owner }: PartitionKey): readonly string[] {
  const text = ownerText(owner);
  return text === null ? ['shared', source] : ['user', text, source];
}

export function partitionFrom([kind, first = '', second = '']: readonly string[]): PartitionKey {
  return kind === 'shared' ? sharedPartition(first) : { source: second, owner: readOwner(first) };
}
