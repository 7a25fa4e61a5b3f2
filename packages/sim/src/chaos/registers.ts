import type { ObjectsGiven } from '../model/write.ts';
import { type ChaosPartition, DOCUMENTS, ownerOf, PUSHED, partitionName } from './partitions.ts';
import { RegisterHistory } from './register-history.ts';

const REGISTERS_PER_PARTITION = 4;
const BATCH_OBJECTS = 5;

/** An object that pushers write and readers read; its attribute `n` is the value. */
export interface Register {
  readonly partition: ChaosPartition;
  readonly id: string;
  history: RegisterHistory;
  /** The value after the last time that everything was healed. */
  settled: number | null;
}

/** A document of the server whose text is the value. */
export interface DocumentRegister {
  readonly name: string;
  history: RegisterHistory;
  settled: number | null;
}

/** The objects of a partition that are always pushed together, with one value. */
export interface Batch {
  readonly partition: ChaosPartition;
  readonly ids: readonly string[];
  settled: number;
}

/** All objects and documents that pushers write. */
export class Registers {
  readonly all: readonly Register[] = PUSHED.flatMap((partition) =>
    Array.from({ length: REGISTERS_PER_PARTITION }, (_, count) => ({
      partition,
      id: `${ownerOf(partition)}-r${count}`,
      history: new RegisterHistory(null),
      settled: null,
    })),
  );
  readonly #byId = new Map(
    this.all.map((register) => [JSON.stringify([register.partition.source, register.id]), register]),
  );
  readonly documents: readonly DocumentRegister[] = DOCUMENTS.map((name) => {
    return { name, history: new RegisterHistory(null), settled: null };
  });
  readonly batches: readonly Batch[] = PUSHED.map((partition) => {
    const ids = Array.from({ length: BATCH_OBJECTS }, (_, count) => `${ownerOf(partition)}-b${count}`);
    return { partition, ids, settled: 0 };
  });
  readonly #torn: string[] = [];
  #values = 0;

  nextValue(): number {
    return ++this.#values;
  }

  of(partition: ChaosPartition): readonly Register[] {
    return this.all.filter((register) => register.partition === partition);
  }

  find(source: string, id: string): Register | undefined {
    return this.#byId.get(JSON.stringify([source, id]));
  }

  /** What the objects of a partition must be when everything is healed. */
  settledObjects(partition: ChaosPartition): ObjectsGiven {
    const owner = ownerOf(partition);
    const { ids, settled: n } = this.batchOf(partition);
    return {
      ...Object.fromEntries(this.of(partition).map(({ id, settled }) => [id, { n: settled ?? 0, owner }])),
      ...Object.fromEntries(ids.map((id) => [id, { n, owner }])),
    };
  }

  batchOf(partition: ChaosPartition): Batch {
    const batch = this.batches.find((one) => one.partition === partition);
    if (batch === undefined) throw new Error('nobody pushes to the partition');
    return batch;
  }

  /** Records what a read of a whole partition returned. */
  recordRead(partition: ChaosPartition, objects: ObjectsGiven, startMs: number): void {
    const endMs = performance.now();
    for (const { id, history } of this.of(partition)) {
      const n = objects[id]?.n;
      history.reads.push({ value: typeof n === 'number' ? n : null, startMs, endMs });
    }
    const found = this.batchOf(partition).ids.map((id) => objects[id]?.n ?? null);
    if (new Set(found).size > 1) {
      this.#torn.push(`a batch in ${partitionName(partition)} was read in part: ${JSON.stringify(found)}`);
    }
  }

  recordDocument({ history }: DocumentRegister, value: number, startMs: number): void {
    history.reads.push({ value, startMs, endMs: performance.now() });
  }

  /** Batches of which a read has returned a part: they must be whole even after a failover that lost writes. */
  get torn(): readonly string[] {
    return this.#torn;
  }

  /** Returns the histories that are not linearizable. */
  problems(): readonly string[] {
    const named = [
      ...this.all.map(({ partition, id, history }) => ({ name: `${id} in ${partitionName(partition)}`, history })),
      ...this.documents.map(({ name, history }) => ({ name: `the document ${name}`, history })),
    ];
    return named.flatMap(({ name, history }) => {
      const problem = history.problem();
      return problem === null ? [] : [`${name}: ${problem}\n${JSON.stringify(history)}`];
    });
  }

  /** Begins new histories with the values that were written last. */
  settle(): void {
    for (const register of [...this.all, ...this.documents]) register.history = new RegisterHistory(register.settled);
  }
}
