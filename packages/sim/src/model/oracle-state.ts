import { canonicalJson } from '@tidemark/protocol';
import { type ModelObject, withAttributes } from './objects.ts';
import type { Attributes, ObjectsGiven, Write } from './write.ts';

/** The state of one partition at one moment. States are values: a write makes a new one. */
export interface OracleState {
  /** Counts the writes that changed something in this generation; 0: nothing was ever written. */
  readonly time: number;
  readonly objects: ReadonlyMap<string, ModelObject>;
  /** When each object last changed; deleted ones included. */
  readonly touched: ReadonlyMap<string, number>;
  /** When each object was created or replaced by a whole one. */
  readonly created: ReadonlyMap<string, number>;
  /** When each attribute last changed, removals included. */
  readonly attributesTouched: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

export const EMPTY_STATE: OracleState = {
  time: 0,
  objects: new Map(),
  touched: new Map(),
  created: new Map(),
  attributesTouched: new Map(),
};

export interface OracleEffect {
  readonly state: OracleState;
  readonly changed: number;
  readonly unchanged: number;
}

/** Applies a write to a state of the oracle. */
export function oracleWrite(state: OracleState, write: Write): OracleEffect {
  const wanted = objectsAfter(state.objects, write, changedSince(state, write));
  const moved = [...wanted].filter(([id, after]) => moves(state, write, id, after));
  return {
    state: moved.length === 0 ? state : stateAfter(state, moved, write.kind === 'fast_insert'),
    changed: moved.length,
    unchanged: wanted.size - moved.length,
  };
}

/** Returns whether a refresh must leave an object alone, because it changed after the query began. */
function changedSince({ touched }: OracleState, write: Write): (id: string) => boolean {
  const since = write.kind === 'replace' ? (write.query?.time ?? Number.POSITIVE_INFINITY) : 0;
  return (id) => (touched.get(id) ?? 0) > since;
}

/**
 * Returns every object that a write names, as it is afterwards; one without attributes is deleted. A replacement names
 * all objects of the partition except those that `isProtected` tells it to leave alone.
 */
export function objectsAfter(
  objects: ReadonlyMap<string, ModelObject>,
  write: Write,
  isProtected: (id: string) => boolean = () => false,
): Map<string, ModelObject> {
  const before = (id: string) => objects.get(id) ?? new Map<string, string>();
  switch (write.kind) {
    case 'push_objects':
      return eachId(Object.keys(write.objects), (id) => withAttributes(before(id), write.objects[id]));
    case 'push_deletes':
      return eachId(write.ids, () => new Map());
    case 'fast_insert':
      return eachId(Object.keys(write.objects), (id) => {
        const given = write.objects[id] ?? {};
        return Object.keys(given).length === 0 ? before(id) : withAttributes(new Map(), given);
      });
    case 'fast_update':
      return eachId([...Object.keys(write.deleteData), ...Object.keys(write.data)], (id) =>
        withAttributes(withoutEqual(before(id), write.deleteData[id]), write.data[id]),
      );
    case 'fast_delete':
      return eachId(Object.keys(write.data), (id) => withoutEqual(before(id), write.data[id]));
    case 'replace': {
      const ids = [...objects.keys(), ...Object.keys(write.objects)].filter((id) => !isProtected(id));
      return eachId(ids, (id) => withAttributes(new Map(), attributesIn(write.objects, id)));
    }
  }
}

function attributesIn(objects: ObjectsGiven, id: string): Attributes | undefined {
  return Object.hasOwn(objects, id) ? objects[id] : undefined;
}

function eachId(ids: readonly string[], wanted: (id: string) => ModelObject): Map<string, ModelObject> {
  return new Map(ids.map((id) => [id, wanted(id)]));
}

function withoutEqual(object: ModelObject, given: Attributes | undefined): ModelObject {
  const result = new Map(object);
  for (const [name, value] of Object.entries(given ?? {})) {
    if (result.get(name) === canonicalJson(value)) result.delete(name);
  }
  return result;
}

/** A fast_insert does not compare, so it counts as a change even where the object stays equal. */
function moves(state: OracleState, write: Write, id: string, after: ModelObject): boolean {
  if (write.kind === 'fast_insert') return Object.keys(write.objects[id] ?? {}).length > 0;
  return !sameObject(state.objects.get(id) ?? new Map(), after);
}

function sameObject(left: ModelObject, right: ModelObject): boolean {
  return left.size === right.size && [...left].every(([name, text]) => right.get(name) === text);
}

function stateAfter(
  state: OracleState,
  moved: readonly (readonly [string, ModelObject])[],
  replacesWhole: boolean,
): OracleState {
  const time = state.time + 1;
  const objects = new Map(state.objects);
  const touched = new Map(state.touched);
  const created = new Map(state.created);
  const attributesTouched = new Map(state.attributesTouched);
  for (const [id, after] of moved) {
    const before = state.objects.get(id);
    touched.set(id, time);
    if (before === undefined || replacesWhole) created.set(id, time);
    attributesTouched.set(id, attributeTimes(state, id, after, time));
    if (after.size === 0) objects.delete(id);
    else objects.set(id, after);
  }
  return { time, objects, touched, created, attributesTouched };
}

function attributeTimes(state: OracleState, id: string, after: ModelObject, time: number): Map<string, number> {
  const before = state.objects.get(id) ?? new Map<string, string>();
  const times = new Map(state.attributesTouched.get(id));
  for (const name of [...before.keys(), ...after.keys()]) {
    if (before.get(name) !== after.get(name)) times.set(name, time);
  }
  return times;
}
