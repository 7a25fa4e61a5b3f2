/** How far the first sync of a source is. */
export interface SourceProgress {
  /** Objects that have arrived. */
  readonly objects: number;
  /** Objects that the server has. */
  readonly total: number;
  /** The length of what has arrived since the app was started, uncompressed. */
  readonly bytes: number;
}

/** How far the first sync is, of all sources together and of each. */
export interface SyncProgress extends SourceProgress {
  readonly sources: ReadonlyMap<string, SourceProgress>;
}

/** Counts what has arrived of the sources that start over. */
export class ProgressCounter {
  readonly #sources = new Map<string, SourceProgress>();
  #current: SyncProgress | null = null;

  /** The same value until something arrives. Null: no source starts over. */
  get current(): SyncProgress | null {
    return this.#current;
  }

  note(source: string, { objects, total, bytes }: SourceProgress): void {
    const before = this.#sources.get(source)?.bytes ?? 0;
    this.#sources.set(source, { objects, total, bytes: before + bytes });
    this.#sum();
  }

  end(source: string): void {
    if (this.#sources.delete(source)) this.#sum();
  }

  clear(): void {
    this.#sources.clear();
    this.#sum();
  }

  #sum(): void {
    const sum = { objects: 0, total: 0, bytes: 0 };
    for (const { objects, total, bytes } of this.#sources.values()) {
      sum.objects += objects;
      sum.total += total;
      sum.bytes += bytes;
    }
    this.#current = this.#sources.size === 0 ? null : Object.freeze({ ...sum, sources: new Map(this.#sources) });
  }
}
