import { type Conflicts, Refusal, textChecksum } from '@tidemark/protocol';
import { mergedAndRemoved, type Verdict } from '../documents/verdicts.ts';
import { isValidUpTo } from '../journal/is-valid-up-to.ts';
import { changedAt } from '../journal/record.ts';
import { readToken } from '../pages/token.ts';
import type { PartitionState } from '../ports/store.ts';
import type { AdmittedUpload } from './admit-upload.ts';
import type { PresentObject } from './translate-upload.ts';
import { type Footprint, REMOVED } from './upload-notes.ts';

/** What an upload makes of its object, or why it is not applied. */
export type Decision =
  | { readonly status: 'applied'; readonly verdict: Verdict }
  | { readonly status: 'rejected'; readonly refusal: Refusal }
  /** `conflicting`: the attributes of an update that somebody else has changed. */
  | { readonly status: 'conflict'; readonly refusal: Refusal; readonly conflicting?: readonly string[] };

/** All that a decision depends on. */
export interface UploadContext {
  readonly state: PartitionState;
  readonly conflicts: Conflicts;
  /** The object in the present version of the schema; null: there is none. */
  readonly present: PresentObject | null;
  /** What this device has written to the object itself. */
  readonly footprint: Footprint;
}

/** Decides what the upload makes of the object as it is. Pure. */
export function decideUpload(upload: AdmittedUpload, context: UploadContext): Decision {
  const { present } = context;
  switch (upload.op) {
    case 'create':
      return decideCreate(upload, present);
    case 'update':
      return present === null ? MISSING : decideChange(upload, present, context);
    case 'delete':
      return present === null ? NOTHING_TO_DO : decideChange(upload, present, context);
  }
}

const NOTHING_TO_DO: Decision = { status: 'applied', verdict: null };
const MISSING: Decision = {
  status: 'conflict',
  refusal: new Refusal('object_not_found', 'there is no such object, or somebody has deleted it'),
};

function decideCreate({ attributes }: AdmittedUpload, present: PresentObject | null): Decision {
  if (present === null) return { status: 'applied', verdict: attributes };
  return { status: 'rejected', refusal: new Refusal('object_exists', 'there is already an object of this id') };
}

function decideChange(upload: AdmittedUpload, present: PresentObject, context: UploadContext): Decision {
  const verdict =
    upload.op === 'delete' ? 'gone' : mergedAndRemoved(present.attributes, upload.attributes, upload.removed);
  if (context.conflicts === 'last_writer' || verdict === null) return { status: 'applied', verdict };
  if (upload.seen === null) {
    const detail = 'this source detects conflicts: say with "seen" in which state the change was made';
    return { status: 'rejected', refusal: new Refusal('invalid_request', detail) };
  }
  const conflicting = changedByOthers(upload, present, context);
  const [first] = conflicting;
  if (first === undefined) return { status: 'applied', verdict };
  const what = upload.op === 'delete' ? 'the object' : `the attribute ${JSON.stringify(first)}`;
  const refusal = new Refusal('object_changed', `${what} was changed by somebody else since the device saw it`);
  return upload.op === 'delete' ? { status: 'conflict', refusal } : { status: 'conflict', refusal, conflicting };
}

/** The attributes that the upload touches and that another writer has changed since. */
function changedByOthers(
  { op, attributes, removed, seen }: AdmittedUpload,
  current: PresentObject,
  { state, footprint }: UploadContext,
): readonly string[] {
  const seenSeq = seenSeqOf(seen, state);
  const touched = [...attributes.keys(), ...removed];
  const names = op === 'delete' ? [...current.attributes.keys(), ...current.marks.gone.keys()] : touched;
  return names.filter((name) => {
    const text = current.attributes.get(name);
    const isSame = text === attributes.get(name) && (text !== undefined || op === 'update');
    return !isSame && changedAt(name, current.marks) > seenSeq && !isOwnChange(name, current, footprint);
  });
}

/**
 * Whether the attribute is as this device left it. An attribute that the object never had counts as old as the object: a
 * device whose own values are still in the object knew of its creation.
 */
function isOwnChange(name: string, { attributes, marks }: PresentObject, footprint: Footprint): boolean {
  const isOwn = (own: string, text: string) => footprint.get(own) === textChecksum(text);
  const text = attributes.get(name);
  if (text !== undefined) return isOwn(name, text);
  if (marks.gone.has(name)) return footprint.get(name) === REMOVED;
  return [...attributes].some(([own, its]) => isOwn(own, its));
}

/**
 * The seq up to which the device knew the object when it changed it. With a token of another epoch, or below the floor,
 * where marks are trimmed, everything counts as changed since.
 */
function seenSeqOf(seen: string | null, state: PartitionState): number {
  const token = seen === null ? null : readToken(seen);
  if (token === null || token.baseline.kind === 'start') return -1;
  const { seq } = token.baseline;
  return seq > (isValidUpTo(state, token.epoch) ?? -1) || seq < state.floor ? -1 : seq;
}
