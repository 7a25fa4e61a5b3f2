import type { ModelObject } from '../model/objects.ts';
import type { ModelPartition } from '../model/partition.ts';
import type { Attributes, ObjectsGiven, Write } from '../model/write.ts';
import type { HistoryRun, QueryInFlight } from './history-run.ts';
import type { PlannedWrite } from './step.ts';

/** Everything is newer than a query of an earlier generation, so its answer may not change anything. */
const BEFORE_THIS_GENERATION = -1;

export interface ResolvedWrite {
  readonly write: Write;
  readonly query: QueryInFlight | null;
}

/** Fills in what a planned write takes from md, and the query that it answers. */
export async function resolveWrite(run: HistoryRun, planned: PlannedWrite): Promise<ResolvedWrite> {
  switch (planned.kind) {
    case 'fast_update':
      return { write: { ...planned, deleteData: withStored(run, planned, planned.deleteData) }, query: null };
    case 'fast_delete':
      return { write: { ...planned, data: withStored(run, planned, planned.data) }, query: null };
    case 'replace':
      return answerOf(run, planned);
    default:
      return { write: planned, query: null };
  }
}

export async function beginQuery(run: HistoryRun, partition: ModelPartition): Promise<QueryInFlight> {
  const { floor } = await run.status(partition);
  const since = await run.server.beginQuery(partition);
  const { time, objects } = run.oracle.state(partition);
  return { partition, since, time, seen: objects, floor, generation: run.oracle.generation(partition) };
}

async function answerOf(run: HistoryRun, planned: Extract<PlannedWrite, { kind: 'replace' }>): Promise<ResolvedWrite> {
  const { partition, without, objects } = planned;
  const query = planned.query === null ? null : await queryFor(run, partition, planned.query);
  const seen = query?.seen ?? run.oracle.state(partition).objects;
  const kept = [...seen].filter(([id]) => !without.includes(id)).map(([id, object]) => [id, given(object)]);
  return { write: { kind: 'replace', partition, objects: { ...Object.fromEntries(kept), ...objects }, query }, query };
}

async function queryFor(run: HistoryRun, partition: ModelPartition, pick: number): Promise<QueryInFlight> {
  const query = run.takeQuery(partition, pick) ?? (await beginQuery(run, partition));
  return query.generation === run.oracle.generation(partition) ? query : { ...query, time: BEFORE_THIS_GENERATION };
}

function withStored(
  run: HistoryRun,
  planned: Extract<PlannedWrite, { kind: 'fast_delete' | 'fast_update' }>,
  data: ObjectsGiven,
): ObjectsGiven {
  const { objects } = run.oracle.state(planned.partition);
  const stored = planned.asStored.map((id) => [id, given(objects.get(id) ?? new Map())]);
  return { ...data, ...Object.fromEntries(stored) };
}

function given(object: ModelObject): Attributes {
  return Object.fromEntries([...object].map(([name, text]) => [name, JSON.parse(text)]));
}
