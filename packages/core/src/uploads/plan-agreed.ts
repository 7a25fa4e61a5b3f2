import { LINK_KEPT_MS, SETTLED_KEPT_MS, type Upload } from '@tidemark/protocol';
import { changeOf, liveRecord } from '../documents/effect.ts';
import { deleted, merged, type Verdict } from '../documents/verdicts.ts';
import type { ObjectRecord } from '../journal/record.ts';
import type { Note, NoteWrite, Store } from '../ports/store.ts';
import type { AdmittedUpload } from './admit-upload.ts';
import { footprintText, readFootprint } from './footprint.ts';
import { linkText } from './link-note.ts';
import { type KeptOutcome, outcomeText } from './outcome-note.ts';
import type { RoundPlan } from './plan-round.ts';
import type { PreparedUpload } from './prepare-uploads.ts';
import type { UploadTarget } from './upload-target.ts';

type AskedUpload = PreparedUpload & { readonly refusal: null };

/** What was noted of an upload before, and where. */
export interface EarlierNote {
  readonly note: Note | null;
}

/**
 * What is to be written once the backend has agreed. It holds the truth: whatever somebody else wrote meanwhile, its word
 * counts now. `id` is what the backend calls the object.
 */
export async function planAgreed(
  store: Store,
  target: UploadTarget,
  { upload, opId }: AskedUpload,
  { id, note, nowMs }: EarlierNote & { readonly id: string; readonly nowMs: number },
): Promise<RoundPlan> {
  const { partition, client, conflicts } = target;
  const read = await store.readObjects(partition, [id]);
  const stored = read.objects.get(id);
  const current = liveRecord(stored);
  const change = changeOf(id, stored, current, agreed(upload, current), read.state.floor);
  const outcome: KeptOutcome = { status: 'applied', id };
  const writes: NoteWrite[] = [...finalWrites(opId, outcome, note), ...linkWrites(upload, outcome, nowMs)];
  if (conflicts === 'detect' && change !== null) {
    const [before] = await store.readNotes(partition, client, [{ kind: 'footprint', key: id }]);
    const known = before === undefined || upload.op !== 'update' ? new Map() : readFootprint(before.text);
    const text = upload.op === 'delete' ? null : footprintText(known, upload.attributes);
    writes.push({ kind: 'footprint', key: id, text, endsAtMs: nowMs + SETTLED_KEPT_MS });
  }
  return {
    changes: change === null ? [] : [change],
    kept: change === null ? [{ id, expect: stored?.seq ?? 0 }] : [],
    writes,
    seen: read.state,
    outcomes: new Map([[opId, outcome]]),
  };
}

/** What is to be written when the upload is not applied, for whatever reason. Of a creation, others may depend on it. */
export function planRefused(
  { opId, given }: PreparedUpload,
  outcome: KeptOutcome,
  { note, nowMs }: EarlierNote & { readonly nowMs: number },
): RoundPlan {
  const writes = [...finalWrites(opId, outcome, note), ...linkWrites(given, outcome, nowMs)];
  return { changes: [], kept: [], writes, outcomes: new Map([[opId, outcome]]) };
}

/** An object somebody has deleted here while the backend was asked is not made again of the attributes that changed. */
function agreed({ op, attributes }: AdmittedUpload, current: ObjectRecord | null): Verdict {
  const before = current?.attributes ?? null;
  if (op === 'delete') return deleted(before);
  return op === 'update' && before === null ? null : merged(before, attributes);
}

/** An upload that has come to an outcome need not be kept for its job any more. */
function finalWrites(opId: string, outcome: KeptOutcome, note: Note | null): readonly NoteWrite[] {
  return [...outcomeWrites(opId, outcome, note), { kind: 'upload', key: opId, text: null }];
}

/**
 * What is noted already must be what was read: of two that bring the same upload at once, one is told to look again. An
 * outcome that was acknowledged and is another one now is told again.
 */
export function outcomeWrites(opId: string, outcome: KeptOutcome, note: Note | null): readonly NoteWrite[] {
  const text = outcomeText(outcome);
  if (note?.kind !== 'settled') return [{ kind: 'outcome', key: opId, text, expect: note?.text ?? null }];
  return [
    { kind: 'settled', key: opId, text: null, expect: note.text },
    { kind: 'outcome', key: opId, text },
  ];
}

/**
 * What is known of the id of a create from now on. Where the backend gave another one, the temporary id means that one;
 * under that, it is remembered how the object's uploads are ordered.
 */
export function linkWrites(
  { op, id: origin }: Pick<Upload, 'op' | 'id'>,
  { status, id }: KeptOutcome,
  nowMs: number,
): readonly NoteWrite[] {
  if (op !== 'create') return [];
  if (status !== 'applied') {
    const text = linkText({ state: 'rejected' });
    return [{ kind: 'link', key: origin, text, endsAtMs: nowMs + SETTLED_KEPT_MS }];
  }
  if (id === origin) return [{ kind: 'link', key: origin, text: null }];
  const text = linkText({ state: 'given', id, origin });
  return [origin, id].map((key) => ({ kind: 'link', key, text, endsAtMs: nowMs + LINK_KEPT_MS }));
}
