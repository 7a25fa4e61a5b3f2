import type { JsonValue } from '@tidemark/protocol';
import { Rng, seededRandom } from '@tidemark/testing/kit';
import type { Attributes, ObjectsGiven, Write } from '../../model/write.ts';
import { objectId, partitionOf } from './names.ts';
import type { ObjectRange, ObjectsOperation } from './operation.ts';

const NAMES = ['a', 'b', 'c', 'd'] as const;

/** Few, so that a value that is removed by comparison is often there. */
const VALUES: readonly JsonValue[] = [0, 1, 'x', null, 'ä\u2028"\\', [1, { b: 2, a: [] }], 'long '.repeat(40)];

/** Returns the objects of a range: the same ones in every process. */
export function objectsInRange(writer: number, range: ObjectRange): ObjectsGiven {
  const rng = new Rng(seededRandom(range.seed));
  return Object.fromEntries(idsInRange(writer, range).map((id) => [id, drawAttributes(rng)]));
}

export function idsInRange(writer: number, { first, count }: ObjectRange): readonly string[] {
  return Array.from({ length: count }, (_, index) => objectId(writer, first + index));
}

function drawAttributes(rng: Rng): Attributes {
  const names = NAMES.filter(() => rng.chance(40));
  return Object.fromEntries((names.length === 0 ? ['a'] : names).map((name) => [name, rng.pick(VALUES)]));
}

/** Returns the write of objects that an operation means. */
export function writeOf(writer: number, operation: ObjectsOperation): Write {
  const partition = partitionOf(writer, operation.target);
  const objects = (range: ObjectRange) => objectsInRange(writer, range);
  switch (operation.kind) {
    case 'push_objects':
    case 'fast_insert':
      return { kind: operation.kind, partition, objects: objects(operation.objects) };
    case 'push_deletes':
      return { kind: 'push_deletes', partition, ids: idsInRange(writer, operation.objects) };
    case 'fast_update':
      return {
        kind: 'fast_update',
        partition,
        deleteData: objects(operation.remove),
        data: objects(operation.put),
      };
    case 'fast_delete':
      return { kind: 'fast_delete', partition, data: objects(operation.remove) };
    case 'replace':
      return { kind: 'replace', partition, objects: objects(operation.objects), query: null };
  }
}
