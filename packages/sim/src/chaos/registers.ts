import type { ObjectsGiven } from '../model/write.ts';
import { type ChaosPartition, ownerOf, PUSHED, partitionName } from './partitions.ts';
import { RegisterHistory } from './register-history.ts';

const REGISTERS_PER_PARTITION = 4;

/** An object that pushers write and readers read; its attribute `n` is the value. */
export interface Register {
  readonly partition: ChaosPartition;
  readonly id: string;
  history: RegisterHistory;
  /** The value after the last time that everything was healed. */
  settled: number | null;
}

/** All objects that pushers write. */
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
    return Object.fromEntries(this.of(partition).map(({ id, settled }) => [id, { n: settled ?? 0, owner }]));
  }

  /** Records what a read of a whole partition returned. */
  recordRead(partition: ChaosPartition, objects: ObjectsGiven, startMs: number): void {
    const endMs = performance.now();
    for (const { id, history } of this.of(partition)) {
      const n = objects[id]?.n;
      history.reads.push({ value: typeof n === 'number' ? n : null, startMs, endMs });
    }
  }

  /** Returns the histories that are not linearizable. */
  problems(): readonly string[] {
    return this.all.flatMap(({ partition, id, history }) => {
      const problem = history.problem();
      return problem === null ? [] : [`${id} in ${partitionName(partition)}: ${problem}\n${JSON.stringify(history)}`];
    });
  }

  /** Begins new histories with the values that were written last. */
  settle(): void {
    for (const register of this.all) register.history = new RegisterHistory(register.settled);
  }
}
