import { canonicalJson } from '@tidemark/protocol';
import type { Attributes, ObjectsGiven, Write } from './step.ts';

/** Attribute → canonical JSON text of its value. Never changed in place, so states may share it. */
export type OracleObject = ReadonlyMap<string, string>;

/** What is true of one partition at one moment. States are values: a write makes a new one. */
export interface OracleState {
  /** Counts the writes that changed something in this life; 0: never written to. */
  readonly time: number;
  readonly objects: ReadonlyMap<string, OracleObject>;
  /** When each object last changed; deleted ones included. */
  readonly touched: ReadonlyMap<string, number>;
  /** When each object came into being or was replaced wholesale. */
  readonly born: ReadonlyMap<string, number>;
  /** When each attribute last changed, removals included. */
  readonly attributesTouched: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

export const EMPTY_STATE: OracleState = {
  time: 0,
  objects: new Map(),
  touched: new Map(),
  born: new Map(),
  attributesTouched: new Map(),
};

export interface OracleEffect {
  readonly state: OracleState;
  readonly changed: number;
  readonly unchanged: number;
}

/** The meaning of every kind of write, said in the plainest way: what each object is afterwards. */
export function oracleWrite(state: OracleState, write: Write): OracleEffect {
  const wanted = wantedObjects(state, write);
  const moved = [...wanted].filter(([id, after]) => moves(state, write, id, after));
  return {
    state: moved.length === 0 ? state : stateAfter(state, moved, write.kind === 'fast_insert'),
    changed: moved.length,
    unchanged: wanted.size - moved.length,
  };
}

/** The objects a write speaks of, as it wants them; without attributes: gone. */
function wantedObjects(state: OracleState, write: Write): Map<string, OracleObject> {
  const before = (id: string) => state.objects.get(id) ?? new Map<string, string>();
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
    case 'replace':
      return replacement(state, write.objects, write.query?.time ?? Number.POSITIVE_INFINITY);
  }
}

/** What the answer of a query makes of md: what changed after the query began is left alone, whole objects at a time. */
function replacement(state: OracleState, objects: ObjectsGiven, since: number): Map<string, OracleObject> {
  const ids = [...state.objects.keys(), ...Object.keys(objects)].filter((id) => (state.touched.get(id) ?? 0) <= since);
  return eachId(ids, (id) => withAttributes(new Map(), Object.hasOwn(objects, id) ? objects[id] : {}));
}

function eachId(ids: readonly string[], wanted: (id: string) => OracleObject): Map<string, OracleObject> {
  return new Map(ids.map((id) => [id, wanted(id)]));
}

function withAttributes(object: OracleObject, given: Attributes | undefined): OracleObject {
  const result = new Map(object);
  for (const [name, value] of Object.entries(given ?? {})) result.set(name, canonicalJson(value));
  return result;
}

function withoutEqual(object: OracleObject, given: Attributes | undefined): OracleObject {
  const result = new Map(object);
  for (const [name, value] of Object.entries(given ?? {})) {
    if (result.get(name) === canonicalJson(value)) result.delete(name);
  }
  return result;
}

/** A fast_insert does not look, so it moves even what it leaves equal. */
function moves(state: OracleState, write: Write, id: string, after: OracleObject): boolean {
  if (write.kind === 'fast_insert') return Object.keys(write.objects[id] ?? {}).length > 0;
  return !sameObject(state.objects.get(id) ?? new Map(), after);
}

export function sameObject(left: OracleObject, right: OracleObject): boolean {
  return left.size === right.size && [...left].every(([name, text]) => right.get(name) === text);
}

function stateAfter(
  state: OracleState,
  moved: readonly (readonly [string, OracleObject])[],
  wholesale: boolean,
): OracleState {
  const time = state.time + 1;
  const objects = new Map(state.objects);
  const touched = new Map(state.touched);
  const born = new Map(state.born);
  const attributesTouched = new Map(state.attributesTouched);
  for (const [id, after] of moved) {
    const before = state.objects.get(id);
    touched.set(id, time);
    if (before === undefined || wholesale) born.set(id, time);
    attributesTouched.set(id, attributeTimes(state, id, after, time));
    if (after.size === 0) objects.delete(id);
    else objects.set(id, after);
  }
  return { time, objects, touched, born, attributesTouched };
}

function attributeTimes(state: OracleState, id: string, after: OracleObject, time: number): Map<string, number> {
  const before = state.objects.get(id) ?? new Map<string, string>();
  const times = new Map(state.attributesTouched.get(id));
  for (const name of [...before.keys(), ...after.keys()]) {
    if (before.get(name) !== after.get(name)) times.set(name, time);
  }
  return times;
}
