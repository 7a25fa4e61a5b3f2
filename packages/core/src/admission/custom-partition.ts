/** The first character of the owner of a custom partition. Logins hold no control characters, so none looks like one. */
const MARK = '\u001f';

/** The attributes of a source that decide in which partition its data is. */
export interface PartitionedSource {
  readonly name: string;
  readonly partition_type: 'app' | 'user';
  readonly adapter: string;
}

/** The `user` in the key of a custom partition. */
export function customOwner(name: string): string {
  return `${MARK}${name}`;
}

/** Returns the name of the custom partition; null when the owner is a user, or all users share the partition. */
export function customNameOf(owner: string | null): string | null {
  return owner?.startsWith(MARK) ? owner.slice(MARK.length) : null;
}
