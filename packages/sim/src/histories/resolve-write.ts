import type { ModelObject } from '../model/objects.ts';
import type { ModelPartition } from '../model/partition.ts';
import type { Attributes, ObjectsGiven, Write } from '../model/write.ts';
import type { PlannedWrite } from './step.ts';
import type { QueryInFlight, World } from './world.ts';

/** Everything is newer than a query of an earlier generation, so its answer may not change anything. */
const BEFORE_THIS_GENERATION = -1;

export interface ResolvedWrite {
  readonly write: Write;
  readonly query: QueryInFlight | null;
}

/** Fills in what a planned write takes from md, and the query that it answers. */
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

export async function beginQuery(world: World, partition: ModelPartition): Promise<QueryInFlight> {
  const { floor } = await world.status(partition);
  const since = await world.server.beginQuery(partition);
  const { time, objects } = world.oracle.state(partition);
  return { partition, since, time, seen: objects, floor, generation: world.oracle.generation(partition) };
}

async function answerOf(world: World, planned: Extract<PlannedWrite, { kind: 'replace' }>): Promise<ResolvedWrite> {
  const { partition, without, objects } = planned;
  const query = planned.query === null ? null : await queryFor(world, partition, planned.query);
  const seen = query?.seen ?? world.oracle.state(partition).objects;
  const kept = [...seen].filter(([id]) => !without.includes(id)).map(([id, object]) => [id, given(object)]);
  return { write: { kind: 'replace', partition, objects: { ...Object.fromEntries(kept), ...objects }, query }, query };
}

async function queryFor(world: World, partition: ModelPartition, pick: number): Promise<QueryInFlight> {
  const query = world.takeQuery(partition, pick) ?? (await beginQuery(world, partition));
  return query.generation === world.oracle.generation(partition) ? query : { ...query, time: BEFORE_THIS_GENERATION };
}

function withStored(
  world: World,
  planned: Extract<PlannedWrite, { kind: 'fast_delete' | 'fast_update' }>,
  data: ObjectsGiven,
): ObjectsGiven {
  const { objects } = world.oracle.state(planned.partition);
  const stored = planned.asStored.map((id) => [id, given(objects.get(id) ?? new Map())]);
  return { ...data, ...Object.fromEntries(stored) };
}

function given(object: ModelObject): Attributes {
  return Object.fromEntries([...object].map(([name, text]) => [name, JSON.parse(text)]));
}
