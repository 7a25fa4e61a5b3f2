import type { Conflicts, Refusal } from '@tidemark/protocol';
import type { Adapter } from '../ports/adapter.ts';
import type { Guard, PartitionKey } from '../ports/store.ts';

/** Where the uploads of one device to one source go. */
export interface UploadTarget {
  readonly source: string;
  readonly client: string;
  /** The registration of the device, which tells it from earlier and later ones of the same id. */
  readonly registration: number;
  /** Whose device it is. */
  readonly user: string;
  readonly partition: PartitionKey;
  /** Where the user's data was before: what was uploaded there is not done again here. */
  readonly earlier: readonly PartitionKey[];
  readonly conflicts: Conflicts;
  readonly isReadOnly: boolean;
  /** Attribute → the partition whose objects it names. */
  readonly references: ReadonlyMap<string, PartitionKey>;
  /** Who must agree; null: nobody. */
  readonly adapter: Adapter | null;
  /** Where uploads are left for later; null: they are done at once. */
  readonly queue: string | null;
  /** The partition has no room left, so what is not a deletion is rejected. */
  readonly isFull?: Refusal;
  /** What must still be there when something is written: the source, the user, the device. */
  readonly guards: readonly Guard[];
}
