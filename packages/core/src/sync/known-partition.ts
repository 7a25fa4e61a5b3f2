import type { DeviceId } from '../devices/device-id.ts';
import type { PartitionKey } from '../ports/store.ts';
import type { Sources, SourceView } from '../sources/sources.ts';

/** Where the user was last seen: what is asked about a device is not worth asking a backend. */
export async function knownPartition(sources: Sources, source: SourceView, { user }: DeviceId): Promise<PartitionKey> {
  return (await sources.memberships.knownPlaceOf(source, user)).partition;
}
