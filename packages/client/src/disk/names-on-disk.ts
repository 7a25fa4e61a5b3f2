import type { DiskPart } from '../ports/local-store.ts';
import type { DiskWork, OnDisk } from '../state/disk-work.ts';
import { sourceOf } from '../state/group-rows.ts';
import { DiskTransaction } from './disk-transaction.ts';

/** The fact that names the sources whose objects are on the disk. */
export const ON_DISK = ['', 'on_disk'] as const;

/** The sources whose objects are on the disk and not in memory. */
export class NamesOnDisk implements OnDisk {
  readonly #names = new Set<string>();
  readonly #disk: () => DiskPart;

  constructor(disk: () => DiskPart) {
    this.#disk = disk;
  }

  get names(): readonly string[] {
    return [...this.#names].sort();
  }

  /** True for the objects of such a source, of its groups, and who owns them. */
  has(first: string): boolean {
    return this.#names.size > 0 && this.#names.has(sourceOf(first));
  }

  add(source: string): void {
    this.#names.add(source);
  }

  remove(source: string): void {
    this.#names.delete(source);
  }

  begin(): DiskWork {
    return new DiskTransaction(this, this.#disk());
  }
}
