import type { Refusal } from '@tidemark/protocol';
import { SETTLED_KEPT_MS } from '@tidemark/protocol';
import { changeOf, liveRecord } from '../documents/effect.ts';
import type { Change, Kept, NoteRef, NoteWrite, ObjectsRead, PartitionState, Store } from '../ports/store.ts';
import { type Decision, decideUpload } from './decide-upload.ts';
import { type Footprint, footprintText, readFootprint } from './footprint.ts';
import { type KeptOutcome, outcomeText, readOutcome } from './outcome-note.ts';
import type { PreparedUpload } from './prepare-uploads.ts';
import type { UploadTarget } from './upload-target.ts';

/** What one step has to write for a round of uploads, given how things are now. */
export interface RoundPlan {
  readonly changes: readonly Change[];
  readonly kept: readonly Kept[];
  readonly writes: readonly NoteWrite[];
  /** The state all of it was seen in; absent when nothing had to be looked at. */
  readonly seen?: PartitionState;
  /** By op id; of uploads that were here before, what became of them then. */
  readonly outcomes: ReadonlyMap<string, KeptOutcome>;
}

export async function planRound(
  store: Store,
  target: UploadTarget,
  round: readonly PreparedUpload[],
  nowMs: number,
): Promise<RoundPlan> {
  const { before, footprints } = await readNotes(store, target, round);
  const fresh = round.filter(({ opId }) => !before.has(opId));
  if (fresh.length === 0) return { changes: [], kept: [], writes: [], outcomes: before };
  const ids = fresh.filter(({ refusal }) => refusal === null).map(({ id }) => id);
  const read = ids.length === 0 ? null : await store.readObjects(target.partition, ids);
  const decided = fresh.map((prepared) => decide(target, prepared, read, footprints));
  return {
    changes: decided.flatMap(({ change }) => change ?? []),
    kept: decided.flatMap(({ left }) => left ?? []),
    writes: decided.flatMap((one) => notesOf(target, one, footprints, nowMs)),
    ...(read === null ? {} : { seen: read.state }),
    outcomes: new Map([...before, ...decided.map(({ prepared, outcome }) => [prepared.opId, outcome] as const)]),
  };
}

/** What is remembered of these uploads and of the objects they are about. */
async function readNotes(
  store: Store,
  { partition, client, conflicts }: UploadTarget,
  round: readonly PreparedUpload[],
): Promise<{
  readonly before: ReadonlyMap<string, KeptOutcome>;
  readonly footprints: ReadonlyMap<string, Footprint>;
}> {
  const refs = round.flatMap(({ opId, id, refusal }): NoteRef[] => [
    { kind: 'outcome', key: opId },
    { kind: 'settled', key: opId },
    ...(conflicts === 'detect' && refusal === null ? [{ kind: 'footprint', key: id } as const] : []),
  ]);
  const before = new Map<string, KeptOutcome>();
  const footprints = new Map<string, Footprint>();
  for (const note of await store.readNotes(partition, client, refs)) {
    if (note.kind === 'footprint') footprints.set(note.key, readFootprint(note.text));
    else before.set(note.key, readOutcome(note));
  }
  return { before, footprints };
}

interface Decided {
  readonly prepared: PreparedUpload;
  readonly outcome: KeptOutcome;
  readonly change: Change | null;
  /** The object, when it is left alone because of what it is. */
  readonly left: Kept | null;
}

const NO_FOOTPRINT: Footprint = new Map();

function decide(
  { conflicts, isFull }: UploadTarget,
  prepared: PreparedUpload,
  read: ObjectsRead | null,
  footprints: ReadonlyMap<string, Footprint>,
): Decided {
  const { id, upload, refusal } = prepared;
  if (refusal !== null || read === null) {
    return { prepared, outcome: outcomeOfDecision(id, refused(refusal)), change: null, left: null };
  }
  const stored = read.objects.get(id);
  const { state } = read;
  if (isFull !== undefined && upload.op !== 'delete') {
    const left = { id, expect: stored?.seq ?? 0 };
    return { prepared, outcome: outcomeOfDecision(id, refused(isFull)), change: null, left };
  }
  const footprint = footprints.get(id) ?? NO_FOOTPRINT;
  const decision = decideUpload(upload, { stored, state, conflicts, footprint });
  const verdict = decision.status === 'applied' ? decision.verdict : null;
  const change = changeOf(id, stored, liveRecord(stored), verdict, state.floor);
  const left = change === null ? { id, expect: stored?.seq ?? 0 } : null;
  return { prepared, outcome: outcomeOfDecision(id, decision), change, left };
}

function refused(refusal: Refusal | null): Decision {
  if (refusal === null) throw new Error('an upload that may be applied must be looked up');
  return { status: 'rejected', refusal };
}

function outcomeOfDecision(id: string, decision: Decision): KeptOutcome {
  if (decision.status === 'applied') return { status: 'applied', id };
  const { code, message } = decision.refusal;
  return { status: decision.status, id, error: { code, detail: message } };
}

/** The outcome must not be there yet: of two that bring the same upload at once, one is told to look again. */
function notesOf(
  { conflicts }: UploadTarget,
  { prepared, outcome, change }: Decided,
  footprints: ReadonlyMap<string, Footprint>,
  nowMs: number,
): readonly NoteWrite[] {
  const { opId, id, upload } = prepared;
  const note: NoteWrite = { kind: 'outcome', key: opId, text: outcomeText(outcome), expect: null };
  if (conflicts !== 'detect' || change === null || upload === null) return [note];
  const before = upload.op === 'update' ? (footprints.get(id) ?? NO_FOOTPRINT) : NO_FOOTPRINT;
  const text = upload.op === 'delete' ? null : footprintText(before, upload.attributes);
  return [note, { kind: 'footprint', key: id, text, endsAtMs: nowMs + SETTLED_KEPT_MS }];
}
