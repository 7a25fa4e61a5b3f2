import type { Note } from '../ports/store.ts';
import { readOutcome } from './upload-notes.ts';

/**
 * Divides uploads to one partition into rounds in which each object, as `objectOf` names it, occurs at most once. Applying
 * the rounds one after the other keeps the order of each object's uploads.
 */
export function roundsOf<T>(uploads: readonly T[], objectOf: (upload: T) => string): readonly (readonly T[])[] {
  const rounds: T[][] = [];
  const nextRound = new Map<string, number>();
  for (const upload of uploads) {
    const object = objectOf(upload);
    const round = nextRound.get(object) ?? 0;
    nextRound.set(object, round + 1);
    const others = rounds[round];
    if (others === undefined) rounds[round] = [upload];
    else others.push(upload);
  }
  return rounds;
}

/** The objects whose uploads must go to the queue, so that none overtakes an earlier upload of the same object. */
export class UploadLane {
  readonly #blocked = new Set<string>();
  #isClosed = false;

  /** `outcomes`: all that the device has not acknowledged. The queued ones among them block their objects. */
  constructor(outcomes: readonly Note[]) {
    for (const note of outcomes) {
      const { status, id, origin = id } = readOutcome(note);
      if (status === 'queued') this.#blocked.add(origin);
    }
  }

  isBlocked(origin: string): boolean {
    return this.#isClosed || this.#blocked.has(origin);
  }

  block(origin: string): void {
    this.#blocked.add(origin);
  }

  /** Blocks every object: a backend in trouble is not asked about the remaining uploads of a call. */
  close(): void {
    this.#isClosed = true;
  }
}
