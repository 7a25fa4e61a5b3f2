import type { PartitionKey } from '../owner.ts';
import type { Guard, WriteResult } from './entries.ts';

/** Tidemarks and notes: what the store remembers of each device in a partition. */
export interface NoteStore {
  // Tidemarks: the last position of each device, by partition

  readTidemark(key: PartitionKey, client: string): Promise<DeviceTidemark | null>;
  /** The tidemarks of a partition, in an order of the engine. `after` is the last one of the previous listing. */
  listTidemarks(key: PartitionKey, list: TidemarkList): Promise<readonly DeviceTidemark[]>;
  /**
   * A tidemark of a partition that was never written to is not stored, because there is nothing to trim. `expect` is the
   * one that must be stored until now, null: none; otherwise it is a conflict. Absent: not checked.
   */
  noteTidemark(
    key: PartitionKey,
    mark: DeviceTidemark,
    guards: readonly Guard[],
    expect?: DeviceTidemark | null,
  ): Promise<WriteResult>;

  // What devices have acknowledged: an index over the tidemarks of a partition

  /**
   * Counts the tidemarks of this epoch, and those of them that acknowledge less than `below` (see `acknowledgedSeq`). It
   * reads those below only, not all.
   */
  countAcknowledged(key: PartitionKey, range: AcknowledgedRange): Promise<AcknowledgedCount>;
  /**
   * The tidemarks of this epoch that acknowledge less than `below`, ordered by what they acknowledge, then by client.
   * `after` is the last one of the previous listing.
   */
  listAcknowledged(key: PartitionKey, list: AcknowledgedList): Promise<readonly DeviceTidemark[]>;

  // Notes: what is remembered of a device's uploads to a partition

  /** Returns the notes named by `refs` that exist. */
  readNotes(key: PartitionKey, client: string, refs: readonly NoteRef[]): Promise<readonly Note[]>;
  /** Notes of one kind in the order of their keys; `after` is the last key of the previous listing. */
  listNotes(key: PartitionKey, client: string, list: NoteList): Promise<readonly Note[]>;
}

export interface DeviceTidemark {
  readonly client: string;
  readonly epoch: string;
  /** The seq up to which the device has pages. */
  readonly seq: number;
  /** The head when it was last up to date; null while it starts over. */
  readonly base: number | null;
  /** The head when it began to start over; null when it has a base. */
  readonly start: number | null;
  /**
   * The pages that answered its token brought it everything up to this seq, and it has not presented the token of the last
   * of them. Absent: they did not, or they had nothing beyond the base.
   */
  readonly sent?: number;
  readonly seenAtMs: number;
}

export interface TidemarkList {
  readonly after?: DeviceTidemark;
  readonly limit: number;
}

export interface AcknowledgedRange {
  readonly epoch: string;
  readonly below: number;
}

export interface AcknowledgedList extends AcknowledgedRange {
  readonly after?: Pick<DeviceTidemark, 'client' | 'base'>;
  readonly limit: number;
}

export interface AcknowledgedCount {
  /** All tidemarks of the epoch. */
  readonly devices: number;
  readonly below: number;
}

/**
 * outcome [op id]: told to the device until it has acknowledged · settled [op id]: an outcome it has acknowledged, kept
 * so that a late repetition has no effect · upload [op id]: the upload itself, while its job waits · link [temporary id] ·
 * footprint [object id]: what the device wrote there itself
 */
export type NoteKind = 'outcome' | 'settled' | 'upload' | 'link' | 'footprint';

export interface NoteRef {
  readonly kind: NoteKind;
  readonly key: string;
}

export interface Note extends NoteRef {
  readonly text: string;
}

export interface NoteWrite extends NoteRef {
  /** Null removes. */
  readonly text: string | null;
  /** The text the note must have; null: there must be none. Otherwise the commit is a conflict. Absent: not checked. */
  readonly expect?: string | null;
  /** When the note expires. Absent: never. */
  readonly endsAtMs?: number;
}

export interface NoteList {
  readonly kind: NoteKind;
  readonly after?: string;
  readonly limit: number;
}

/**
 * What becomes of a device's notes on a partition. They live with the partition, also with one whose journal was never
 * written to, and go with the device, the user or the source.
 */
export interface NotesWrite {
  readonly client: string;
  /** A kind and key stands at most once. */
  readonly writes: readonly NoteWrite[];
  /** Notes of this device on this partition that have ended by now go in the same step, a bounded number of them. */
  readonly nowMs: number;
}

/**
 * The seq up to which a device surely holds every change: the head at its last complete catch-up. In the middle of a
 * catch-up its seq is higher, but objects below that seq may have moved ahead of it in the journal. A device that starts
 * over has acknowledged nothing.
 */
export function acknowledgedSeq({ base }: Pick<DeviceTidemark, 'base'>): number {
  return base ?? 0;
}
