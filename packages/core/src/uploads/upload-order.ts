import type { Upload } from '@tidemark/protocol';
import type { Note } from '../ports/store.ts';
import { readOutcome } from './upload-notes.ts';

/** Indexes of uploads that are applied together, because they name the same source and group. */
export type Batches = readonly (readonly number[])[];

/** One batch for each source and group. */
export function batchesByTarget(uploads: readonly Upload[]): Batches {
  const batches = new Map<string, number[]>();
  for (const [index, upload] of uploads.entries()) {
    const batch = batches.get(targetOf(upload));
    if (batch === undefined) batches.set(targetOf(upload), [index]);
    else batch.push(index);
  }
  return [...batches.values()];
}

/** One batch for each run of neighbours, so that all uploads keep their order. */
export function batchesInOrder(uploads: readonly Upload[]): Batches {
  const batches: number[][] = [];
  let last: string | null = null;
  for (const [index, upload] of uploads.entries()) {
    const target = targetOf(upload);
    if (target === last) batches.at(-1)?.push(index);
    else batches.push([index]);
    last = target;
  }
  return batches;
}

/** Whether uploads that name no group may go to a group that others name: a user in one group need not name it. */
export function mayShareTarget(uploads: readonly Upload[]): boolean {
  const named = new Set(uploads.flatMap(({ source, group }) => (group === undefined ? [] : source)));
  return uploads.some(({ source, group }) => group === undefined && named.has(source));
}

function targetOf({ source, group }: Upload): string {
  return JSON.stringify([source, group]);
}

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
export class OriginBlocks {
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
