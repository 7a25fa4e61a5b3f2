import type { ObjectsGiven } from '../model/write.ts';
import type { PlannedWrite, Step } from './step.ts';

/** Returns simpler forms of a step, for shrinking. */
export function simplifyStep(step: Step): Step[] {
  switch (step.kind) {
    case 'write':
      return simplerWrites(step.write).map((write) => ({ ...step, write }));
    case 'concurrent':
      return [
        ...step.writes.map((write): Step => ({ kind: 'write', write, delaySeed: step.delaySeed })),
        ...(step.trim === null ? [] : [{ ...step, trim: null }]),
        ...withoutOne(step.pulls).map((pulls) => ({ ...step, pulls })),
        ...withoutOne(step.writes).map((writes) => ({ ...step, writes })),
        ...withOneSimpler(step.writes).map((writes) => ({ ...step, writes })),
      ];
    case 'recreate_user':
      return [
        ...withoutOne(step.pulls).map((pulls) => ({ ...step, pulls })),
        ...withoutOne(step.racing).map((racing) => ({ ...step, racing })),
        ...withoutOne(step.first).map((first) => ({ ...step, first })),
        ...withOneSimpler(step.racing).map((racing) => ({ ...step, racing })),
        ...withOneSimpler(step.first).map((first) => ({ ...step, first })),
      ];
    case 'reset_store':
      return [
        ...withoutOne(step.pulls).map((pulls) => ({ ...step, pulls })),
        ...withoutOne(step.racing).map((racing) => ({ ...step, racing })),
      ];
    case 'pull':
      return step.sizes.length > 1 ? withoutOne(step.sizes).map((sizes) => ({ ...step, sizes })) : [];
    default:
      return [];
  }
}

function withOneSimpler(writes: readonly PlannedWrite[]): PlannedWrite[][] {
  return writes.flatMap((write, index) => simplerWrites(write).map((simpler) => writes.with(index, simpler)));
}

function simplerWrites(write: PlannedWrite): PlannedWrite[] {
  switch (write.kind) {
    case 'push_objects':
    case 'fast_insert':
      return simplerObjects(write.objects).map((objects) => ({ ...write, objects }));
    case 'push_deletes':
      return withoutOne(write.ids).map((ids) => ({ ...write, ids }));
    case 'fast_update':
      return [
        ...withoutOne(write.asStored).map((asStored) => ({ ...write, asStored })),
        ...simplerObjects(write.deleteData).map((deleteData) => ({ ...write, deleteData })),
        ...simplerObjects(write.data).map((data) => ({ ...write, data })),
      ];
    case 'fast_delete':
      return [
        ...withoutOne(write.asStored).map((asStored) => ({ ...write, asStored })),
        ...simplerObjects(write.data).map((data) => ({ ...write, data })),
      ];
    case 'replace':
      return [
        ...withoutOne(write.without).map((without) => ({ ...write, without })),
        ...simplerObjects(write.objects).map((objects) => ({ ...write, objects })),
      ];
  }
}

/** Returns the objects without one object, and without one attribute. */
function simplerObjects(objects: ObjectsGiven): ObjectsGiven[] {
  const fewer = withoutOne(Object.entries(objects));
  const thinner = Object.entries(objects).flatMap(([id, attributes]) =>
    withoutOne(Object.entries(attributes)).map((left) => ({ ...objects, [id]: Object.fromEntries(left) })),
  );
  return [...fewer.map((left) => Object.fromEntries(left)), ...thinner];
}

function withoutOne<T>(items: readonly T[]): T[][] {
  return items.map((_, index) => items.toSpliced(index, 1));
}
