import type { Rng } from '@tidemark/testing/kit';
import type { ModelPartition } from '../model/partition.ts';
import type { Attributes, ObjectsGiven } from '../model/write.ts';
import type { PlannedWrite } from './step.ts';
import type { ValuePools } from './value-pools.ts';

export interface Drawer {
  readonly rng: Rng;
  readonly values: ValuePools;
}

const OBJECTS_MAX = 4;
const KINDS: readonly PlannedWrite['kind'][] = [
  'push_objects',
  'push_objects',
  'push_objects',
  'push_deletes',
  'push_deletes',
  'fast_insert',
  'fast_update',
  'fast_update',
  'fast_delete',
  'replace',
];

export function drawWrite(drawer: Drawer, partition: ModelPartition): PlannedWrite {
  const { rng, values } = drawer;
  const kind = rng.pick(KINDS);
  switch (kind) {
    case 'push_objects':
    case 'fast_insert':
      return { kind, partition, objects: drawObjects(drawer, partition) };
    case 'push_deletes':
      return { kind, partition, ids: values.ids(OBJECTS_MAX) };
    case 'fast_update': {
      const asStored = rng.chance(40) ? values.ids(2) : [];
      return {
        kind,
        partition,
        deleteData: drawObjects(drawer, partition),
        data: drawObjects(drawer, partition),
        asStored,
      };
    }
    case 'fast_delete':
      return { kind, partition, data: drawObjects(drawer, partition), asStored: rng.chance(50) ? values.ids(2) : [] };
    case 'replace':
      return drawReplace(drawer, partition);
  }
}

function drawReplace(drawer: Drawer, partition: ModelPartition): PlannedWrite {
  const { rng, values } = drawer;
  return {
    kind: 'replace',
    partition,
    query: rng.chance(80) ? rng.below(100) : null,
    without: rng.chance(50) ? values.ids(2) : [],
    objects: rng.chance(70) ? drawObjects(drawer, partition) : {},
  };
}

/** Draws a write that races with the end of a generation: no refresh, whose query could belong to either one. */
export function drawRacingWrite(drawer: Drawer, partition: ModelPartition): PlannedWrite {
  const write = drawWrite(drawer, partition);
  return write.kind === 'replace' ? { ...write, query: null } : write;
}

function drawObjects(drawer: Drawer, partition: ModelPartition): ObjectsGiven {
  const ids = drawer.values.ids(drawer.rng.chance(60) ? 1 : OBJECTS_MAX);
  return Object.fromEntries(ids.map((id) => [id, drawAttributes(drawer, partition)]));
}

function drawAttributes({ rng, values }: Drawer, partition: ModelPartition): Attributes {
  const names = values.attributes(rng.chance(8) ? 0 : 1);
  return Object.fromEntries(names.map((name) => [name, values.value(partition)]));
}

/** The server refuses every call that contains one of these. */
const ILLEGAL: readonly (() => ObjectsGiven)[] = [
  () => ({ '*': { name: 1 } }),
  () => ({ '': { name: 1 } }),
  () => ({ 'bell\u0007': { name: 1 } }),
  () => ({ 'half\ud800': { name: 1 } }),
  () => ({ fine: { '': 1 } }),
  () => ({ fine: { '*': 1 } }),
  () => ({ ['y'.repeat(513)]: { name: 1 } }),
  () => JSON.parse('{"fine": {"name": {"__proto__": 1}}}'),
  () => JSON.parse('{"__proto__": {"name": 1}}'),
  () => JSON.parse(`{"fine": {"name": ${'['.repeat(40)}${']'.repeat(40)}}}`),
];

/** Draws a push that the server must refuse. */
export function drawBadWrite(
  drawer: Drawer,
  partition: ModelPartition,
): Extract<PlannedWrite, { kind: 'push_objects' }> {
  const illegal = drawer.rng.pick(ILLEGAL)();
  const objects: Record<string, Attributes> = { ...drawObjects(drawer, partition) };
  for (const [id, attributes] of Object.entries(illegal)) {
    Object.defineProperty(objects, id, { value: attributes, enumerable: true, configurable: true, writable: true });
  }
  return { kind: 'push_objects', partition, objects };
}
