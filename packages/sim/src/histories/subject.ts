import type { WriteReport } from '@tidemark/protocol';
import type { Place } from './place.ts';
import type { ObjectsGiven, PageSize, Write } from './step.ts';

/**
 * What a simulation needs of the server it tries to break. A handled no is a `Refusal`, thrown; everything else that
 * is thrown is a bug.
 */
export interface Subject {
  write(write: Write): Promise<WriteReport>;
  /** What a query must hand back when its answer is written. */
  beginQuery(place: Place): Promise<unknown>;
  pull(pull: PullRequest): Promise<string>;
  readObjects(place: Place): Promise<ReadonlyMap<string, ObjectsGiven[string]>>;
  state(place: Place): Promise<SubjectState>;
  trim(place: Place, retentionMs: number): Promise<void>;
  /** Forgets tombstones up to a seq, whoever still needs them. */
  trimBrutally(place: Place, upTo: number): Promise<void>;
  /** Makes a user with devices. */
  createUser(login: string, clients: readonly string[]): Promise<void>;
  deleteUser(login: string): Promise<void>;
  /** Forgets a device and makes its acquaintance anew. */
  forgetClient(login: string, client: string): Promise<void>;
  /** What the store finds wrong with itself. */
  verify(): Promise<readonly string[]>;
  /** Empties the store and declares the sources again. */
  reset(): Promise<void>;
}

export interface PullRequest extends PageSize {
  readonly source: string;
  readonly user: string;
  readonly client: string;
  readonly token: string | null;
}

export interface SubjectState {
  readonly head: number;
  readonly floor: number;
  readonly size: number;
  readonly checksum: number;
}

export interface SubjectSurroundings {
  readonly seed: number;
  readonly nowMs: () => number;
  /** A number for each step, from which an engine may draw how promptly it answers. */
  readonly weather: () => number;
}

/** Makes a subject with the sources declared and no users. */
export type MakeSubject = (surroundings: SubjectSurroundings) => Promise<Subject>;
