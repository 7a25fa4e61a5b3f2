import { type JsonValue, parseJson, SCHEMA_INFER_OBJECTS_MAX, type SchemaProposal } from '@tidemark/protocol';
import { ObjectRecord } from '../journal/record.ts';
import type { Pace } from '../ports/pace.ts';
import type { PartitionKey, Store } from '../ports/store.ts';
import { WorkBudget } from '../primitives/work-budget.ts';
import { SchemaInference } from '../schemas/infer.ts';

interface InferPorts {
  readonly store: Store;
  readonly pace: Pace;
}

type Attributes = Readonly<Record<string, JsonValue>>;

const OBJECTS_AT_A_TIME = 500;
const UNITS_AT_A_TIME = 1_000_000;
const PARTITIONS_PER_READ = 1_000;
/** Partitions of all sources that are looked at to find those of one. */
const PARTITIONS_READS_MAX = 100;

/** Proposes a schema that fits the given objects. */
export async function inferFromSamples(
  source: string,
  samples: Iterable<Attributes>,
  pace: Pace,
): Promise<SchemaProposal> {
  const inference = new SchemaInference();
  const budget = new WorkBudget();
  for (const attributes of samples) {
    inference.add(attributes);
    if (budget.isSpent(Object.keys(attributes).length * ATTRIBUTE_UNITS)) await pace.turn();
  }
  return proposalOf(source, inference);
}

const ATTRIBUTE_UNITS = 500;

/** Proposes a schema that fits the stored objects of a source, of which it reads a bounded number. */
export async function inferFromStored(ports: InferPorts, source: string): Promise<SchemaProposal> {
  const inference = new SchemaInference();
  for await (const partition of partitionsOf(ports.store, source)) {
    await addPartition(ports, partition, inference);
    if (inference.objects >= SCHEMA_INFER_OBJECTS_MAX) break;
  }
  return proposalOf(source, inference);
}

async function addPartition(
  { store, pace }: InferPorts,
  partition: PartitionKey,
  inference: SchemaInference,
): Promise<void> {
  let after = 0;
  while (inference.objects < SCHEMA_INFER_OBJECTS_MAX) {
    const entriesMax = Math.min(OBJECTS_AT_A_TIME, SCHEMA_INFER_OBJECTS_MAX - inference.objects);
    const slice = await store.readJournal(partition, {
      after,
      tombstonesAfter: after,
      entriesMax,
      unitsMax: UNITS_AT_A_TIME,
    });
    for (const [index, record] of slice.records.entries()) {
      const { attributes } = new ObjectRecord(record, slice.seqs[index] ?? 0);
      inference.add(parseJson(attributes.text) as Attributes);
    }
    if (slice.upTo >= slice.state.head) return;
    after = slice.upTo;
    await pace.turn();
  }
}

async function* partitionsOf(store: Store, source: string): AsyncGenerator<PartitionKey> {
  let after: PartitionKey | undefined;
  for (let reads = 0; reads < PARTITIONS_READS_MAX; reads++) {
    const page = { limit: PARTITIONS_PER_READ, ...(after === undefined ? {} : { after }) };
    const partitions = await store.partitions(page);
    for (const partition of partitions) if (partition.source === source) yield partition;
    after = partitions.at(-1);
    if (after === undefined || partitions.length < PARTITIONS_PER_READ) return;
  }
}

function proposalOf(source: string, inference: SchemaInference): SchemaProposal {
  const { schema, support } = inference.finish();
  return { source, schema, objects: inference.objects, support };
}
