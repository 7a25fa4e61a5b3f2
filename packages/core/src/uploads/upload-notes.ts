import {
  FOOTPRINT_ATTRIBUTES_MAX,
  type JsonValue,
  LINK_KEPT_MS,
  type Outcome,
  type OutcomeStatus,
  type PartialError,
  parseJson,
  SETTLED_KEPT_MS,
  textChecksum,
  type Upload,
} from '@tidemark/protocol';
import type { AttributeTexts } from '../journal/attribute-texts.ts';
import { ObjectRecord } from '../journal/record.ts';
import type { Note, NoteRef, NoteWrite, StoredObject } from '../ports/store.ts';

// Outcomes: notes of the kinds `outcome` and, once the device has acknowledged them, `settled`; by op id.

/** What is stored of an outcome. It does not include the object: the device is sent the current one each time. */
export interface StoredOutcome {
  readonly status: OutcomeStatus;
  readonly id: string;
  readonly error?: PartialError;
  /** The attributes of an update that somebody else has changed. */
  readonly conflicting?: readonly string[];
  /** The id by which the uploads of the object are ordered, when it differs from `id`. Only of queued uploads. */
  readonly origin?: string;
  /** The id of the job that gave up on the upload. When an operator revives that job, it tries again. */
  readonly setAsideBy?: string;
  /** When the outcome was written, with parts of a millisecond; op ids tell no order. Absent in outcomes of an earlier version. */
  readonly atMs?: number;
}

export function outcomeRefs(opId: string): readonly NoteRef[] {
  return [
    { kind: 'outcome', key: opId },
    { kind: 'settled', key: opId },
  ];
}

export function readOutcome({ text }: Note): StoredOutcome {
  return parseJson(text) as StoredOutcome;
}

/**
 * Writes the outcome in place of `note`, which is what the store had when it was read. If the store has anything else by
 * now, the commit is a conflict: of two requests with the same upload, one must look again. Null as the outcome writes
 * nothing and only checks.
 */
export function outcomeWrites(opId: string, outcome: StoredOutcome | null, note: Note | null): readonly NoteWrite[] {
  const text = outcome === null ? null : outcomeText(outcome);
  return [
    { kind: 'outcome', key: opId, text, expect: note?.kind === 'outcome' ? note.text : null },
    { kind: 'settled', key: opId, text: null, expect: note?.kind === 'settled' ? note.text : null },
  ];
}

function outcomeText({ status, id, error, conflicting, origin, setAsideBy, atMs }: StoredOutcome): string {
  return JSON.stringify({ status, id, error, conflicting, origin, setAsideBy, atMs });
}

/** Moves an outcome that the device has acknowledged to `settled`, where a late repetition still finds it. */
export function settledWrites({ key, text }: Note, nowMs: number): readonly NoteWrite[] {
  return [
    { kind: 'outcome', key, text: null, expect: text },
    { kind: 'settled', key, text, endsAtMs: nowMs + SETTLED_KEPT_MS },
  ];
}

/** Whether the outcome is sent with the current object, so that the device can show it or return to it. */
export function includesCurrent({ status }: StoredOutcome): boolean {
  return status === 'rejected' || status === 'conflict';
}

/** The outcome as devices get it. */
export function outcomeOf(
  opId: string,
  whose: Pick<Outcome, 'source' | 'group'>,
  kept: StoredOutcome,
  stored: StoredObject | undefined,
): Outcome {
  const { status, id, error, conflicting } = kept;
  return {
    op_id: opId,
    ...whose,
    status,
    id,
    ...(error === undefined ? {} : { error }),
    ...(includesCurrent(kept) ? { current: currentOf(stored) } : {}),
    ...(conflicting === undefined ? {} : { conflicting: [...conflicting] }),
  };
}

function currentOf(stored: StoredObject | undefined): Record<string, JsonValue> | null {
  if (stored === undefined || stored.record === null) return null;
  return parseJson(new ObjectRecord(stored.record, stored.seq).attributes.text) as Record<string, JsonValue>;
}

// Links: notes of the kind `link`, by an id that a device has made up, or by the id that the backend gave instead.

/**
 * `pending`: the create `opId` waits in `queue`, so the backend has not named the object yet. `given`: the backend calls
 * the object `id`; its uploads are ordered by `origin`, the id of its create. `rejected`: the create was rejected, and so
 * is every upload that depends on it, as long as there is no object of that id.
 */
export type Link =
  | { readonly state: 'pending'; readonly queue: string; readonly opId: string }
  | { readonly state: 'given'; readonly id: string; readonly origin: string }
  | { readonly state: 'rejected' };

export function linkText(link: Link): string {
  return JSON.stringify(link);
}

export function readLink({ text }: Note): Link {
  return parseJson(text) as Link;
}

/** The links of a create that has come to its outcome; other uploads have none. */
export function linkWrites({ op, id: origin }: Upload, { status, id }: StoredOutcome, nowMs: number): NoteWrite[] {
  if (op !== 'create') return [];
  if (status !== 'applied') {
    const text = linkText({ state: 'rejected' });
    return [{ kind: 'link', key: origin, text, endsAtMs: nowMs + SETTLED_KEPT_MS }];
  }
  if (id === origin) return [{ kind: 'link', key: origin, text: null }];
  const text = linkText({ state: 'given', id, origin });
  return [origin, id].map((key) => ({ kind: 'link', key, text, endsAtMs: nowMs + LINK_KEPT_MS }));
}

// Footprints: notes of the kind `footprint`, by object id, where the source detects conflicts.

/**
 * What a device has written to an object itself: attribute → checksum of the value. A device often changes an object
 * again before it has pulled its own first change, which must not count as a conflict.
 */
export type Footprint = ReadonlyMap<string, number>;

export const NO_FOOTPRINT: Footprint = new Map();

export function readFootprint({ text }: Note): Footprint {
  return new Map(parseJson(text) as [string, number][]);
}

/** In place of a checksum: the device has removed the attribute. */
export const REMOVED = -1;

export function footprintText(before: Footprint, written: AttributeTexts, removed: readonly string[]): string {
  const all = new Map(before);
  for (const name of removed) {
    all.delete(name);
    all.set(name, REMOVED);
  }
  for (const [name, text] of written) {
    all.delete(name);
    all.set(name, textChecksum(text));
  }
  return JSON.stringify([...all].slice(-FOOTPRINT_ATTRIBUTES_MAX));
}

// Uploads: notes of the kind `upload`, by op id, from which jobs read what to do.

export function uploadWrite(upload: Upload, endsAtMs?: number): NoteWrite {
  const text = JSON.stringify(upload);
  return { kind: 'upload', key: upload.op_id, text, ...(endsAtMs === undefined ? {} : { endsAtMs }) };
}

export function uploadRemoval(opId: string): NoteWrite {
  return { kind: 'upload', key: opId, text: null };
}
