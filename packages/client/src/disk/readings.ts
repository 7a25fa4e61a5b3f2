import type { Attributes } from '../state/rows.ts';

/** Notices what changes while the disk is read. */
export interface Reading {
  /** Objects that have changed since it began. */
  readonly changed: ReadonlyMap<string, Attributes | undefined>;
  /** True: all objects may have changed. */
  readonly isRemade: boolean;
  end(): void;
}

interface OpenReading {
  changed: Map<string, Attributes | undefined>;
  isRemade: boolean;
}

/** The readings of a source that are under way. */
export class Readings {
  readonly #open = new Set<OpenReading>();

  begin(): Reading {
    const reading: OpenReading = { changed: new Map(), isRemade: false };
    this.#open.add(reading);
    return Object.assign(reading, { end: () => void this.#open.delete(reading) });
  }

  noteChanged(id: string, after: Attributes | undefined): void {
    for (const { changed } of this.#open) changed.set(id, after);
  }

  noteRemade(): void {
    for (const reading of this.#open) reading.isRemade = true;
  }
}
