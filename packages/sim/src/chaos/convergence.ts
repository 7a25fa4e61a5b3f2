import { isDeepStrictEqual } from 'node:util';
import type { ExpectedObjects } from '../model/objects.ts';
import type { ObjectsGiven } from '../model/write.ts';
import type { AdminClient } from '../processes/admin-client.ts';
import type { ChaosBackend } from './chaos-backend.ts';
import type { FieldDevice } from './field-devices.ts';
import type { MembershipHistory } from './memberships.ts';
import { type ChaosPartition, documentPath, PRODUCT, PUSHED, partitionName, SOURCES, USERS } from './partitions.ts';
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
}

/** Returns where servers, the backend and devices do not hold exactly what was acknowledged. */
export async function differencesOf(parts: ConvergenceParts): Promise<readonly string[]> {
  const differences: string[] = [];
  const compare = (what: string, actual: unknown, expected: unknown) => {
    if (isDeepStrictEqual(actual, expected)) return;
    differences.push(`${what} is ${JSON.stringify(actual)}, should be ${JSON.stringify(expected)}`);
  };
  for (const device of parts.devices) compareDevice(parts, device, compare);
  for (const user of USERS) {
    compare(`the backend's data of ${user}`, parts.backend.objects(user), parts.made.objects({ source: 'Task', user }));
  }
  if (differences.length > 0) return differences;
  const tasks = USERS.map((user) => ({ source: 'Task', user_id: user }));
  for (const [index, server] of parts.servers.entries()) {
    for (const partition of [...PUSHED, ...tasks]) {
      const objects = await server.call('GET', documentPath(partition));
      compare(`${partitionName(partition)} on server ${index}`, objects, objectsIn(parts, partition));
    }
  }
  return differences;
}

type Compare = (what: string, actual: unknown, expected: unknown) => void;

function compareDevice(parts: ConvergenceParts, device: FieldDevice, compare: Compare): void {
  const { index, login, device: opened } = device.process;
  const name = `device ${index} of ${login}`;
  for (const source of SOURCES) compare(`${source} on ${name}`, device.held(source), objectsOf(parts, source, login));
  compare(`the queue of ${name}`, opened?.uploads.list(), []);
  compare(`the list of problems of ${name}`, opened?.problems.list(), []);
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
  if (source === 'Task') return objectsIn(parts, { source, user_id: user });
  return Object.assign({}, ...partitions.map((partition) => objectsIn(parts, partition)));
}

function objectsIn({ registers, made }: ConvergenceParts, partition: ChaosPartition): ObjectsGiven {
  const { source, user_id: user = null } = partition;
  return { ...registers.settledObjects(partition), ...(user === null ? {} : made.objects({ source, user })) };
}
