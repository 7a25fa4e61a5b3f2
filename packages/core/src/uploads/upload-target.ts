import type { Conflicts } from '@tidemark/protocol';
import type { Guard, PartitionKey } from '../ports/store.ts';

/** Where the uploads of one device to one source go. */
export interface UploadTarget {
  readonly source: string;
  readonly client: string;
  readonly partition: PartitionKey;
  readonly conflicts: Conflicts;
  readonly isReadOnly: boolean;
  /** What must still be there when something is written: the source, the user, the device. */
  readonly guards: readonly Guard[];
}
