import { inspectRecord, type MovableStore, type PartitionState, type Piece, type StoreHead } from '@tidemark/core';

interface KeptState {
  readonly head: StoreHead;
  readonly pieces: readonly Piece[];
}

/**
 * Lets a store fall back to what it was at an earlier moment, as a server of Valkey does that is restored from an older
 * dump, or whose replica takes over without the last writes. Partitions get a new epoch then, and remember up to which
 * seq the former one is still valid.
 */
export class FallBack {
  readonly #store: MovableStore;
  #kept: KeptState | null = null;
  #count = 0;

  constructor(store: MovableStore) {
    this.#store = store;
  }

  async keep(): Promise<void> {
    const pieces: Piece[] = [];
    for await (const portion of this.#store.export(inspectRecord)) pieces.push(...portion);
    this.#kept = { head: await this.#store.head(), pieces };
  }

  /** Returns false when no state was kept since the last time. */
  async fallBack(): Promise<boolean> {
    const kept = this.#kept;
    if (kept === null) return false;
    this.#kept = null;
    this.#count += 1;
    await this.#store.beginImport(kept.head);
    const pieces = kept.pieces.map((piece): Piece => {
      return piece.what === 'partition' ? { ...piece, state: this.#fallen(piece.state) } : piece;
    });
    await this.#store.import(pieces);
    return true;
  }

  #fallen(state: PartitionState): PartitionState {
    const earlier = [{ epoch: state.epoch, upTo: state.head }, ...(state.earlier ?? [])];
    return { ...state, epoch: `${state.epoch}-${this.#count}`, earlier };
  }
}
