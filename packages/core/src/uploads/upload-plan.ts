import { type Limits, Refusal, SETTLED_KEPT_MS, UPLOADS_PER_PUSH_MAX } from '@tidemark/protocol';
import { quotaExceeded } from '../admission/quota.ts';
import { refuseGone } from '../admission/refuse-gone.ts';
import { changeOf, liveRecord } from '../documents/effect.ts';
import { deleted, mergedAndRemoved, type Verdict } from '../documents/verdicts.ts';
import { type FileClaims, joinGuards, withoutLostClaims } from '../files/file-claims.ts';
import { type CommitRange, rangeOfCommit } from '../journal/committed.ts';
import type { ObjectChange, ObjectRecord } from '../journal/record.ts';
import type { Clock } from '../ports/clock.ts';
import type { Commit, NoteWrite, ObjectsRead, PartitionKey, Store, UnchangedObject } from '../ports/store.ts';
import type { AdmittedUpload } from './admit-upload.ts';
import { type Decision, decideUpload } from './decide-upload.ts';
import { fitSchema } from './fit-schema.ts';
import type { PreparedUpload } from './prepare-uploads.ts';
import {
  carriedBeside,
  conflictingAsGiven,
  type PresentObject,
  presentObject,
  translated,
} from './translate-upload.ts';
import {
  footprintText,
  linkWrites,
  NO_FOOTPRINT,
  outcomeWrites,
  readFootprint,
  type StoredOutcome,
  uploadRemoval,
} from './upload-notes.ts';
import type { UploadTarget } from './upload-target.ts';

/** What one commit writes for uploads, given how things were when they were read. */
export type UploadPlan = Pick<Commit, 'kept' | 'seen' | 'bytesMax'> & {
  readonly changes: readonly ObjectChange[];
  readonly writes: readonly NoteWrite[];
};

export interface CommitPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly files: FileClaims;
  /** Called after a commit that changed something, when it is durable. */
  readonly onCommitted: (partition: PartitionKey, range: CommitRange) => void;
}

/** Writes what was planned, in one step. False: something is not as it was read. */
export async function commitPlan(
  { store, clock, files, onCommitted }: CommitPorts,
  { partition, guards: admitted, client, user }: UploadTarget,
  { writes, ...effect }: UploadPlan,
): Promise<boolean> {
  const claims = await files.claimAdded(partition, effect.changes, { kind: 'user', login: user, client });
  const guards = joinGuards(admitted, claims);
  const atMs = clock.nowMs();
  const notes = { client, writes, nowMs: atMs };
  const result = withoutLostClaims(await store.commit({ partition, guards, notes, atMs, ...effect }));
  if (result.status === 'gone') throw refuseGone(result.guard);
  if (result.status === 'too_large') throw quotaExceeded(partition, effect.bytesMax ?? 0);
  if (result.status === 'conflict') return false;
  if (effect.changes.length > 0) onCommitted(partition, rangeOfCommit(result.state, effect.changes.length));
  return true;
}

/** An upload as it was decided here, without a backend. */
export interface DecidedUpload {
  readonly prepared: PreparedUpload;
  readonly outcome: StoredOutcome;
  readonly change: ObjectChange | null;
  /** The object, when the outcome depends on it and leaves it as it is. */
  readonly kept: readonly UnchangedObject[];
}

/** `read` has the object; null when the upload is refused whatever the object is. */
export function decide(
  target: UploadTarget,
  prepared: PreparedUpload,
  read: ObjectsRead | null,
  limits: Limits,
): DecidedUpload {
  const { id, admitted, refusal } = prepared;
  if (refusal !== null) return { prepared, outcome: refusedOutcome(id, refusal), change: null, kept: [] };
  if (read === null) throw new Error('the object of an upload that may be applied was not read');
  const stored = read.objects.get(id);
  const { state } = read;
  const kept = [{ id, expect: stored?.seq ?? 0 }];
  if (target.isFull !== undefined && admitted.op !== 'delete') {
    return { prepared, outcome: refusedOutcome(id, target.isFull), change: null, kept };
  }
  const current = liveRecord(stored);
  const present = inPresentVersion(target, prepared, current, limits);
  if (present.refusal !== null) {
    return { prepared: present, outcome: refusedOutcome(id, present.refusal), change: null, kept };
  }
  const footprint = prepared.footprint === null ? NO_FOOTPRINT : readFootprint(prepared.footprint);
  const before = current && presentObject(current, target.versions, limits);
  const terms = { state, conflicts: target.conflicts, present: before, footprint };
  const decision = decideUpload(present.admitted, terms);
  const named = withNamesAsGiven(target, admitted, current, decision);
  const outcome = outcomeOfDecision(id, named);
  const verdict = decision.status === 'applied' ? decision.verdict : null;
  const change = changeOf(id, { stored, current, ...carriedBeside(before, verdict) }, verdict, state.floor);
  return { prepared: present, outcome, change, kept: change === null ? kept : [] };
}

/** Translates an upload of an older version of the schema. What cannot be translated, or does not fit the schema, is refused. */
export function inPresentVersion(
  target: UploadTarget,
  prepared: PreparedUpload,
  current: ObjectRecord | null,
  limits: Limits,
): PreparedUpload {
  if (prepared.refusal !== null) return prepared;
  const { admitted: given } = prepared;
  try {
    const admitted = given.version === undefined ? given : translated(given, target, current, limits);
    fitSchema(target.schema, admitted, current);
    return { ...prepared, admitted };
  } catch (error) {
    if (error instanceof Refusal) return { ...prepared, admitted: null, refusal: error };
    throw error;
  }
}

/** The device knows the attributes in conflict by the names of its own version. */
function withNamesAsGiven(
  target: UploadTarget,
  given: AdmittedUpload,
  current: ObjectRecord | null,
  decision: Decision,
): Decision {
  if (decision.status !== 'conflict' || decision.conflicting === undefined || current === null) return decision;
  return { ...decision, conflicting: conflictingAsGiven(given, target, current, decision.conflicting) };
}

/** The state in which the expectations of a plan were read; nothing when no object was read. */
export function seenIn(read: ObjectsRead | null): Pick<UploadPlan, 'seen'> {
  return read === null ? {} : { seen: read.state };
}

/**
 * What is written for a round of uploads that need no backend; `index` counts the rounds of their push. In a full partition
 * only deletions that have an effect are remembered: there cannot be more of them than objects.
 */
export function planRound(
  target: UploadTarget,
  decided: readonly DecidedUpload[],
  { nowMs, index }: { readonly nowMs: number; readonly index: number },
): UploadPlan {
  // Several rounds may fall into one millisecond.
  const atMs = nowMs + index / UPLOADS_PER_PUSH_MAX;
  const remembered = target.isFull === undefined ? decided : decided.filter(({ change }) => change !== null);
  return {
    changes: decided.flatMap(({ change }) => change ?? []),
    kept: decided.flatMap(({ kept }) => kept),
    writes: remembered.flatMap(({ prepared, outcome, change }) => [
      ...outcomeWrites(prepared.opId, { ...outcome, atMs }, prepared.note),
      ...(change === null ? [] : footprintWrites(target, prepared, nowMs)),
    ]),
  };
}

/** What an agreed upload is written with: the id that the backend has for the object, and that object. */
interface AgreedTerms {
  readonly id: string;
  readonly read: ObjectsRead;
  readonly nowMs: number;
  readonly limits: Limits;
}

/**
 * What is written once the backend has agreed to an upload. The backend is the authority: what it agreed to holds,
 * whatever others have written meanwhile. `id` is its name of the object, `read` has that object.
 */
export function planAgreed(
  target: UploadTarget,
  prepared: PreparedUpload & { readonly refusal: null },
  { id, read, nowMs, limits }: AgreedTerms,
): { readonly outcome: StoredOutcome; readonly plan: UploadPlan } {
  const stored = read.objects.get(id);
  const current = liveRecord(stored);
  const before = current && presentObject(current, target.versions, limits);
  const verdict = agreedVerdict(prepared.admitted, before);
  const change = changeOf(id, { stored, current, ...carriedBeside(before, verdict) }, verdict, read.state.floor);
  const outcome: StoredOutcome = { status: 'applied', id };
  const footprint = change === null ? [] : footprintWrites(target, { ...prepared, id }, nowMs);
  const plan = {
    changes: change === null ? [] : [change],
    kept: change === null ? [{ id, expect: stored?.seq ?? 0 }] : [],
    seen: read.state,
    writes: [...finalWrites(prepared, outcome, nowMs), ...footprint],
  };
  return { outcome, plan };
}

/** What is written once a backend has made a change that it pushes by itself: the push brings the object, perhaps it has already. */
export function planPushed(
  target: UploadTarget,
  prepared: PreparedUpload & { readonly refusal: null },
  nowMs: number,
): UploadPlan {
  const outcome: StoredOutcome = { status: 'applied', id: prepared.id };
  return {
    changes: [],
    writes: [...finalWrites(prepared, outcome, nowMs), ...footprintWrites(target, prepared, nowMs)],
  };
}

/** What is written when an upload to a backend is not applied. */
export function planRefused(prepared: PreparedUpload, outcome: StoredOutcome, nowMs: number): UploadPlan {
  return { changes: [], writes: finalWrites(prepared, outcome, nowMs) };
}

/** An update does not bring back an object that was deleted here while the backend was asked. */
function agreedVerdict({ op, attributes, removed }: AdmittedUpload, present: PresentObject | null): Verdict {
  const before = present?.attributes ?? null;
  if (op === 'delete') return deleted(before);
  return op === 'update' && before === null ? null : mergedAndRemoved(before, attributes, removed);
}

/** Writes the outcome and the links that follow from it; the upload need not be kept for its job any more. */
function finalWrites({ opId, given, note }: PreparedUpload, outcome: StoredOutcome, nowMs: number): NoteWrite[] {
  return [
    ...outcomeWrites(opId, { ...outcome, atMs: nowMs }, note),
    uploadRemoval(opId),
    ...linkWrites(given, outcome, nowMs),
  ];
}

function footprintWrites(
  target: UploadTarget,
  { admitted, id, footprint }: PreparedUpload,
  nowMs: number,
): NoteWrite[] {
  if (target.conflicts !== 'detect' || admitted === null) return [];
  const endsAtMs = nowMs + SETTLED_KEPT_MS;
  if (admitted.op !== 'update') {
    const text = admitted.op === 'delete' ? null : footprintText(NO_FOOTPRINT, admitted.attributes, []);
    return [{ kind: 'footprint', key: id, text, endsAtMs }];
  }
  const before = footprint === null ? NO_FOOTPRINT : readFootprint(footprint);
  const text = footprintText(before, admitted.attributes, admitted.removed);
  return [{ kind: 'footprint', key: id, text, expect: footprint?.text ?? null, endsAtMs }];
}

export function refusedOutcome(id: string, { code, message }: Refusal): StoredOutcome {
  return { status: 'rejected', id, error: { code, detail: message } };
}

function outcomeOfDecision(id: string, decision: Decision): StoredOutcome {
  if (decision.status === 'applied') return { status: 'applied', id };
  const { code, message } = decision.refusal;
  const { conflicting } = decision.status === 'conflict' ? decision : {};
  const outcome = { status: decision.status, id, error: { code, detail: message } };
  return conflicting === undefined ? outcome : { ...outcome, conflicting };
}
