import { isDeepStrictEqual } from 'node:util';
import type { ExpectedObjects } from '../model/objects.ts';
import type { ObjectsGiven } from '../model/write.ts';
import type { AdminClient } from '../processes/admin-client.ts';
import type { ChaosBackend } from './chaos-backend.ts';
import type { FieldDevice } from './field-devices.ts';
import type { MembershipHistory } from './memberships.ts';
import {
  BACKED,
  type ChaosPartition,
  documentPath,
  PRODUCT,
  PUSHED,
  partitionName,
  SOURCES,
  USERS,
} from './partitions.ts';
import type { Registers } from './registers.ts';

export interface ConvergenceParts {
  /** A client for each server. */
  readonly servers: readonly AdminClient[];
  readonly devices: readonly FieldDevice[];
  readonly backend: ChaosBackend;
  readonly registers: Registers;
  readonly memberships: MembershipHistory;
  /** What devices have made, by user and source. */
  readonly made: ExpectedObjects;
  /** True: acknowledged uploads may be lost. Then what the first server holds of them is what all must hold. */
  readonly isLossy: boolean;
}

/** Returns where servers, the backend and devices do not hold exactly what was acknowledged. */
export async function differencesOf(parts: ConvergenceParts): Promise<readonly string[]> {
  const differences: string[] = [];
  const compare = (what: string, actual: unknown, expected: unknown) => {
    if (isDeepStrictEqual(actual, expected)) return;
    differences.push(`${what} is ${JSON.stringify(actual)}, should be ${JSON.stringify(expected)}`);
  };
  if (parts.isLossy) await adoptUploads(parts);
  for (const device of parts.devices) compareDevice(parts, device, compare);
  for (const user of USERS) {
    for (const source of BACKED) {
      const objects = parts.backend.objects(source, user);
      compare(`the backend's ${source} of ${user}`, objects, parts.made.objects({ source, user }));
    }
  }
  if (differences.length > 0) return differences;
  for (const [index, server] of parts.servers.entries()) await compareServer(parts, index, server, compare);
  return differences;
}

async function compareServer(
  parts: ConvergenceParts,
  index: number,
  server: AdminClient,
  compare: Compare,
): Promise<void> {
  const backed = BACKED.flatMap((source) => USERS.map((user) => ({ source, user_id: user })));
  for (const partition of [...PUSHED, ...backed]) {
    const objects = await server.call('GET', documentPath(partition));
    compare(`${partitionName(partition)} on server ${index}`, objects, objectsIn(parts, partition));
  }
  for (const user of USERS) {
    const { groups } = (await server.call('GET', `/rc/v1/users/${user}/groups`)) as { readonly groups: string[] };
    compare(`the groups of ${user} on server ${index}`, groups.sort(), [...parts.memberships.groupsOf(user)].sort());
  }
  for (const { name, settled } of parts.registers.documents) {
    compare(
      `the document ${name} on server ${index}`,
      await server.call('GET', `/rc/v1/store/${name}`),
      String(settled),
    );
  }
}

/** Takes what the first server holds of the uploads to a source without a backend for what devices have made. */
async function adoptUploads({ servers, registers, made }: ConvergenceParts): Promise<void> {
  for (const partition of PUSHED.filter(({ user_id: user }) => user !== undefined)) {
    const { source, user_id: user = null } = partition;
    const objects = (await servers[0]?.call('GET', documentPath(partition))) as ObjectsGiven;
    const pushed = registers.settledObjects(partition);
    for (const id of Object.keys(made.objects({ source, user }))) made.delete({ source, user }, id);
    for (const [id, attributes] of Object.entries(objects)) {
      if (!Object.hasOwn(pushed, id)) made.merge({ source, user }, id, attributes);
    }
  }
}

type Compare = (what: string, actual: unknown, expected: unknown) => void;

function compareDevice(parts: ConvergenceParts, device: FieldDevice, compare: Compare): void {
  const { index, login, device: opened } = device.process;
  const name = `device ${index} of ${login}`;
  for (const source of SOURCES) compare(`${source} on ${name}`, device.held(source), objectsOf(parts, source, login));
  compare(`the queue of ${name}`, opened?.uploads.list(), []);
  // A change of an object whose creation was lost is rejected.
  if (!parts.isLossy) compare(`the list of problems of ${name}`, opened?.problems.list(), []);
  compare(`the number of repairs of ${name}`, opened?.status.getSnapshot().heals, 0);
}

/** What a user must see of a source. */
function objectsOf(parts: ConvergenceParts, source: string, user: string): ObjectsGiven {
  if (source === 'Product') return objectsIn(parts, PRODUCT);
  const partitions = PUSHED.filter((partition) => {
    if (partition.source !== source) return false;
    if (partition.group === undefined) return partition.user_id === user;
    return parts.memberships.groupsOf(user).includes(partition.group);
  });
  if ((BACKED as readonly string[]).includes(source)) return objectsIn(parts, { source, user_id: user });
  return Object.assign({}, ...partitions.map((partition) => objectsIn(parts, partition)));
}

function objectsIn({ registers, made }: ConvergenceParts, partition: ChaosPartition): ObjectsGiven {
  const { source, user_id: user = null } = partition;
  const pushed = PUSHED.includes(partition) ? registers.settledObjects(partition) : {};
  return { ...pushed, ...(user === null ? {} : made.objects({ source, user })) };
}
