import type { PartitionKey } from '../ports/store.ts';
import type { DeviceId } from '../registry/device-id.ts';
import type { Sources, SourceView } from '../registry/sources.ts';

/** Where the user was last seen: what is asked about a device is not worth asking a backend. */
export async function knownPartition(sources: Sources, source: SourceView, { user }: DeviceId): Promise<PartitionKey> {
  return (await sources.memberships.knownPlaceOf(source, user)).partition;
}
