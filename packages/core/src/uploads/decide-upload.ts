import { type Conflicts, Refusal, textChecksum } from '@tidemark/protocol';
import { liveRecord } from '../documents/effect.ts';
import { mergedAndRemoved, type Verdict } from '../documents/verdicts.ts';
import type { AttributeTexts } from '../journal/attribute-texts.ts';
import { isValidUpTo } from '../journal/is-valid-up-to.ts';
import { changedAt, type ObjectRecord } from '../journal/record.ts';
import { readToken } from '../pages/token.ts';
import type { PartitionState, StoredObject } from '../ports/store.ts';
import type { AdmittedUpload } from './admit-upload.ts';
import { type Footprint, REMOVED } from './upload-notes.ts';

/** What an upload makes of its object, or why it is not applied. */
export type Decision =
  | { readonly status: 'applied'; readonly verdict: Verdict }
  | { readonly status: 'rejected'; readonly refusal: Refusal }
  /** `conflicting`: the attributes of an update that somebody else has changed. */
  | { readonly status: 'conflict'; readonly refusal: Refusal; readonly conflicting?: readonly string[] };

/** All that a decision depends on. */
export interface UploadContext {
  readonly stored: StoredObject | undefined;
  readonly state: PartitionState;
  readonly conflicts: Conflicts;
  /** The attributes of the object in the present version of the schema; null: there is no object. */
  readonly before: AttributeTexts | null;
  /** What this device has written to the object itself. */
  readonly footprint: Footprint;
}

/** Decides what the upload makes of the object as it is. Pure. */
export function decideUpload(upload: AdmittedUpload, context: UploadContext): Decision {
  const current = liveRecord(context.stored);
  switch (upload.op) {
    case 'create':
      return decideCreate(upload, current);
    case 'update':
      return current === null ? MISSING : decideChange(upload, current, context);
    case 'delete':
      return current === null ? NOTHING_TO_DO : decideChange(upload, current, context);
  }
}

const NOTHING_TO_DO: Decision = { status: 'applied', verdict: null };
const MISSING: Decision = {
  status: 'conflict',
  refusal: new Refusal('object_not_found', 'there is no such object, or somebody has deleted it'),
};

function decideCreate({ attributes }: AdmittedUpload, current: ObjectRecord | null): Decision {
  if (current === null) return { status: 'applied', verdict: attributes };
  return { status: 'rejected', refusal: new Refusal('object_exists', 'there is already an object of this id') };
}

function decideChange(upload: AdmittedUpload, current: ObjectRecord, context: UploadContext): Decision {
  const verdict =
    upload.op === 'delete'
      ? 'gone'
      : mergedAndRemoved(context.before ?? current.attributes, upload.attributes, upload.removed);
  if (context.conflicts === 'last_writer' || verdict === null) return { status: 'applied', verdict };
  if (upload.seen === null) {
    const detail = 'this source detects conflicts: say with "seen" in which state the change was made';
    return { status: 'rejected', refusal: new Refusal('invalid_request', detail) };
  }
  const conflicting = changedByOthers(upload, current, context);
  const [first] = conflicting;
  if (first === undefined) return { status: 'applied', verdict };
  const what = upload.op === 'delete' ? 'the object' : `the attribute ${JSON.stringify(first)}`;
  const refusal = new Refusal('object_changed', `${what} was changed by somebody else since the device saw it`);
  return upload.op === 'delete' ? { status: 'conflict', refusal } : { status: 'conflict', refusal, conflicting };
}

/** The attributes that the upload touches and that another writer has changed since. */
function changedByOthers(
  { op, attributes, removed, seen }: AdmittedUpload,
  current: ObjectRecord,
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
function isOwnChange(name: string, { attributes, marks }: ObjectRecord, footprint: Footprint): boolean {
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
