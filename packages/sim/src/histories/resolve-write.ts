import type { OracleObject } from './oracle-write.ts';
import type { Place } from './place.ts';
import type { Attributes, ObjectsGiven, PlannedWrite, Write } from './step.ts';
import type { QueryInFlight, World } from './world.ts';

/** All there is came after a query that began in an earlier life, so its answer may not touch any of it. */
const BEFORE_THIS_LIFE = -1;

export interface ResolvedWrite {
  readonly write: Write;
  readonly query: QueryInFlight | null;
}

/** Makes a planned write definite: fills in what it takes from md and which query it answers. */
export async function resolveWrite(world: World, planned: PlannedWrite): Promise<ResolvedWrite> {
  switch (planned.kind) {
    case 'fast_update':
      return { write: { ...planned, deleteData: withStored(world, planned, planned.deleteData) }, query: null };
    case 'fast_delete':
      return { write: { ...planned, data: withStored(world, planned, planned.data) }, query: null };
    case 'replace':
      return answerOf(world, planned);
    default:
      return { write: planned, query: null };
  }
}

export async function beginQuery(world: World, place: Place): Promise<QueryInFlight> {
  const { floor } = await world.state(place);
  const since = await world.subject.beginQuery(place);
  const { time, objects } = world.oracle.state(place);
  return { place, since, time, seen: objects, floor, life: world.oracle.life(place) };
}

async function answerOf(world: World, planned: Extract<PlannedWrite, { kind: 'replace' }>): Promise<ResolvedWrite> {
  const { place, without, objects } = planned;
  const query = planned.query === null ? null : await queryFor(world, place, planned.query);
  const seen = query?.seen ?? world.oracle.state(place).objects;
  const kept = [...seen].filter(([id]) => !without.includes(id)).map(([id, object]) => [id, given(object)]);
  return { write: { kind: 'replace', place, objects: { ...Object.fromEntries(kept), ...objects }, query }, query };
}

async function queryFor(world: World, place: Place, pick: number): Promise<QueryInFlight> {
  const query = world.takeQuery(place, pick) ?? (await beginQuery(world, place));
  return query.life === world.oracle.life(place) ? query : { ...query, time: BEFORE_THIS_LIFE };
}

function withStored(
  world: World,
  planned: Extract<PlannedWrite, { kind: 'fast_delete' | 'fast_update' }>,
  data: ObjectsGiven,
): ObjectsGiven {
  const { objects } = world.oracle.state(planned.place);
  const stored = planned.asStored.map((id) => [id, given(objects.get(id) ?? new Map())]);
  return { ...data, ...Object.fromEntries(stored) };
}

function given(object: OracleObject): Attributes {
  return Object.fromEntries([...object].map(([name, text]) => [name, JSON.parse(text)]));
}
