/** Begins the owner of a custom partition. No login contains a control character, so no user is ever taken for one. */
const MARK = '\u001f';

/** What decides where the data of a source lies. */
export interface PartitionedSource {
  readonly name: string;
  readonly partition_type: 'app' | 'user';
  readonly adapter: string;
}

/**
 * Stands where a call names its user, and means one partition, of which it has been decided before whose it is. Only this
 * server makes one: whatever arrives as JSON is none, so nobody outside reaches past the question who may have what.
 */
export class DecidedOwner {
  /** As in the key of the partition. */
  readonly owner: string | null;

  constructor(owner: string | null) {
    this.owner = owner;
  }
}

/** Where a partition key says whose it is. */
export function customOwner(name: string): string {
  return `${MARK}${name}`;
}

/** The name of the custom partition; null: it is a user's own, or shared by all. */
export function customNameOf(owner: string | null): string | null {
  return owner?.startsWith(MARK) ? owner.slice(MARK.length) : null;
}
