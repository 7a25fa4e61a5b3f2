import type { PartitionKey, Store } from '../ports/store.ts';
import { readOutcome } from './outcome-note.ts';

const NOTES_PER_READ = 1_000;

/** Says which uploads of one call must go to the queue, so that none overtakes an earlier one of the same object. */
export class UploadLane {
  /** Objects with queued uploads, by the ids under which they began. */
  readonly #origins: Set<string>;
  #isClosed = false;

  constructor(origins: Iterable<string> = []) {
    this.#origins = new Set(origins);
  }

  isBlocked(origin: string): boolean {
    return this.#isClosed || this.#origins.has(origin);
  }

  block(origin: string): void {
    this.#origins.add(origin);
  }

  /** Blocks everything else: a backend in trouble is not asked about every upload of a call. */
  close(): void {
    this.#isClosed = true;
  }
}

/** The lane of a device in which every object is blocked that has an upload of this device in a queue. */
export async function openLane(store: Store, partition: PartitionKey, client: string): Promise<UploadLane> {
  const lane = new UploadLane();
  for (let after: string | undefined; ; ) {
    const page = { kind: 'outcome', limit: NOTES_PER_READ, ...(after === undefined ? {} : { after }) } as const;
    const notes = await store.listNotes(partition, client, page);
    for (const note of notes) {
      const { status, id, origin = id } = readOutcome(note);
      if (status === 'queued') lane.block(origin);
    }
    after = notes.at(-1)?.key;
    if (after === undefined || notes.length < NOTES_PER_READ) return lane;
  }
}
