import { EMPTY_STATE, type OracleState } from './oracle-write.ts';
import { type Place, placeKey } from './place.ts';
import { type Snapshot, snapshotOf } from './snapshot.ts';

/**
 * What must be true, kept as plain maps beside the server and told of every write. It also remembers every version
 * each object ever had: whatever a device holds must be one of them, and of the same life of the partition.
 */
export class Oracle {
  readonly #partitions = new Map<string, { life: string; state: OracleState }>();
  readonly #versions = new Map<string, Map<string, Set<string>>>();
  #lives = 0;

  state(place: Place): OracleState {
    return this.#partition(place).state;
  }

  /** A name for the present life of a partition; tokens and data of another life are worth nothing in it. */
  life(place: Place): string {
    return this.#partition(place).life;
  }

  snapshot(place: Place): Snapshot {
    return snapshotOf(this.state(place).objects);
  }

  /** Whether anything was ever written in this life. */
  isWritten(place: Place): boolean {
    return this.state(place).time > 0;
  }

  hasVersion(life: string, id: string, text: string): boolean {
    return this.#versions.get(life)?.get(id)?.has(text) ?? false;
  }

  /** The partition went through these states, one after the other. */
  advance(place: Place, states: readonly OracleState[]): void {
    const partition = this.#partition(place);
    for (const state of states) {
      this.#remember(partition.life, state);
      partition.state = state;
    }
  }

  /** Versions that may have been seen, though the oracle cannot tell whether they really existed for a moment. */
  rememberPossible(place: Place, states: readonly OracleState[]): void {
    for (const state of states) this.#remember(this.life(place), state);
  }

  beginLife(place: Place): void {
    this.#partitions.delete(placeKey(place));
  }

  #partition(place: Place): { life: string; state: OracleState } {
    const key = placeKey(place);
    const known = this.#partitions.get(key);
    if (known !== undefined) return known;
    this.#lives++;
    const partition = { life: `${key} life ${this.#lives}`, state: EMPTY_STATE };
    this.#partitions.set(key, partition);
    return partition;
  }

  #remember(life: string, state: OracleState): void {
    const objects = this.#versions.get(life) ?? new Map<string, Set<string>>();
    this.#versions.set(life, objects);
    for (const [id, text] of snapshotOf(state.objects).texts) {
      const texts = objects.get(id) ?? new Set<string>();
      objects.set(id, texts.add(text));
    }
  }
}
