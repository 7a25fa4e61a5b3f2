import type { JsonValue } from '@tidemark/protocol';
import type { DiskChanges, DiskPart, LocalKey, Union } from '../ports/local-store.ts';
import type { DiskWork, Remade } from '../state/disk-work.ts';
import { sourceOf } from '../state/group-rows.ts';

interface Names {
  readonly names: readonly string[];
  has(first: string): boolean;
}

/** What one transaction reads from the disk and does there to many objects at once. */
export class DiskTransaction implements DiskWork {
  readonly remade = new Map<string, Remade>();
  readonly #names: Names;
  readonly #disk: DiskPart;
  readonly #rows = new Map<string, Map<string, JsonValue | undefined>>();
  /** First parts of keys whose objects are gone. */
  readonly #dropped = new Set<string>();
  #dropsAll = false;
  readonly #moves: (readonly [from: string, to: string])[] = [];
  readonly #unions: Union[] = [];

  constructor(names: Names, disk: DiskPart) {
    this.#names = names;
    this.#disk = disk;
  }

  has(first: string): boolean {
    return this.#names.has(first);
  }

  async read(keys: readonly LocalKey[]): Promise<void> {
    const missing = keys.filter(([first, id]) => this.#rows.get(first)?.has(id) !== true);
    if (missing.length === 0) return;
    const values = await this.#disk.read(missing);
    for (const [index, [first, id]] of missing.entries()) {
      const rows = this.#rows.get(first) ?? new Map<string, JsonValue | undefined>();
      this.#rows.set(first, rows.set(id, values[index]));
    }
  }

  get([first, id]: LocalKey): JsonValue | undefined {
    if (this.#dropsAll || this.#dropped.has(first)) return undefined;
    const rows = this.#rows.get(first);
    if (rows?.has(id) === true) return rows.get(id);
    throw new Error(`${JSON.stringify([first, id])} is on the disk and was not read before the transaction`);
  }

  drop(first: string): void {
    this.#dropped.add(first);
    this.#remake(first, 'emptied');
  }

  dropAll(): void {
    this.#dropsAll = true;
    for (const source of this.#names.names) this.#remake(source, 'emptied');
  }

  move(from: string, to: string): void {
    this.#moves.push([from, to]);
    this.#remake(to, 'replaced');
  }

  unite(union: Union): void {
    this.#unions.push(union);
    this.#remake(union.first, 'replaced');
  }

  get changes(): DiskChanges | undefined {
    const drops = this.#dropsAll ? 'all' : [...this.#dropped];
    if (drops.length + this.#moves.length + this.#unions.length === 0) return undefined;
    return { drops, moves: this.#moves, unions: this.#unions };
  }

  /** The app sees only the objects of the source itself, not those of its groups. */
  #remake(first: string, how: Remade): void {
    if (sourceOf(first) === first) this.remade.set(first, how);
  }
}
