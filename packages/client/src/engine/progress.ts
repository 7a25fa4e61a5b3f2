import type { RowScope } from '../state/group-rows.ts';

/** How far the first sync of a source is. */
export interface SourceProgress {
  /** Objects that have arrived. */
  readonly objects: number;
  /** Objects that the server has. If the data of the source belongs to groups: in the groups that it has begun to send. */
  readonly total: number;
  /** The length of what has arrived since the app was started, uncompressed. */
  readonly bytes: number;
}

/** How far the first sync is, of all sources together and of each. */
export interface SyncProgress extends SourceProgress {
  readonly sources: ReadonlyMap<string, SourceProgress>;
}

const NOTHING: SourceProgress = { objects: 0, total: 0, bytes: 0 };

/** Counts what has arrived of the sources that start over, or of some of their groups. */
export class ProgressCounter {
  /** By source, then by group; the group is empty if the source has none. */
  readonly #parts = new Map<string, Map<string, SourceProgress>>();
  readonly #sources = new Map<string, SourceProgress>();
  #current: SyncProgress | null = null;

  /** The same value until something arrives. Null: no source starts over. */
  get current(): SyncProgress | null {
    return this.#current;
  }

  has({ source, group = '' }: RowScope): boolean {
    return this.#parts.get(source)?.has(group) === true;
  }

  note({ source, group = '' }: RowScope, { objects, total, bytes }: SourceProgress): void {
    const parts = this.#parts.get(source) ?? new Map<string, SourceProgress>();
    this.#parts.set(source, parts);
    const before = parts.get(group) ?? NOTHING;
    const part = { objects, total, bytes: before.bytes + bytes };
    parts.set(group, part);
    const sum = this.#sources.get(source) ?? NOTHING;
    this.#sources.set(source, {
      objects: sum.objects + part.objects - before.objects,
      total: sum.total + part.total - before.total,
      bytes: sum.bytes + bytes,
    });
    this.#sum();
  }

  end(source: string): void {
    this.#parts.delete(source);
    if (this.#sources.delete(source)) this.#sum();
  }

  clear(): void {
    this.#parts.clear();
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
