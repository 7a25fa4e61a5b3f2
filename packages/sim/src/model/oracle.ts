import { type Snapshot, snapshotOf } from './objects.ts';
import { EMPTY_STATE, type OracleState } from './oracle-state.ts';
import type { ModelPartition } from './partition.ts';
import { partitionText } from './partition.ts';

interface PartitionModel {
  readonly generation: string;
  state: OracleState;
}

/**
 * The model of the whole store: plain maps beside the server, updated with every write. It also remembers every version
 * that each object ever had: whatever a device holds must be one of them, and of the same generation of the partition.
 */
export class Oracle {
  readonly #partitions = new Map<string, PartitionModel>();
  readonly #versions = new Map<string, Map<string, Set<string>>>();
  #generations = 0;

  state(partition: ModelPartition): OracleState {
    return this.#model(partition).state;
  }

  /**
   * Names the present generation of a partition. A new one begins when its user is recreated or the store is reset;
   * tokens and data of earlier generations are worthless in it.
   */
  generation(partition: ModelPartition): string {
    return this.#model(partition).generation;
  }

  snapshot(partition: ModelPartition): Snapshot {
    return snapshotOf(this.state(partition).objects);
  }

  hasVersion(generation: string, id: string, text: string): boolean {
    return this.#versions.get(generation)?.get(id)?.has(text) ?? false;
  }

  /** Records that the partition went through these states, one after the other. */
  advance(partition: ModelPartition, states: readonly OracleState[]): void {
    const model = this.#model(partition);
    for (const state of states) {
      this.#remember(model.generation, state);
      model.state = state;
    }
  }

  /** Records versions that a device may have seen, though the oracle cannot tell whether they really existed. */
  rememberPossible(partition: ModelPartition, states: readonly OracleState[]): void {
    for (const state of states) this.#remember(this.generation(partition), state);
  }

  beginGeneration(partition: ModelPartition): void {
    this.#partitions.delete(partitionText(partition));
  }

  #model(partition: ModelPartition): PartitionModel {
    const key = partitionText(partition);
    const known = this.#partitions.get(key);
    if (known !== undefined) return known;
    this.#generations++;
    const model = { generation: `${key} generation ${this.#generations}`, state: EMPTY_STATE };
    this.#partitions.set(key, model);
    return model;
  }

  #remember(generation: string, state: OracleState): void {
    const objects = this.#versions.get(generation) ?? new Map<string, Set<string>>();
    this.#versions.set(generation, objects);
    for (const [id, text] of snapshotOf(state.objects).texts) {
      const texts = objects.get(id) ?? new Set<string>();
      objects.set(id, texts.add(text));
    }
  }
}
