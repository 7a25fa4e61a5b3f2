import type { Outcome } from '@tidemark/protocol';
import { PROBLEMS_MAX } from '../limits.ts';
import { frozen } from '../state/frozen.ts';
import { scopeText } from '../state/group-rows.ts';
import type { Transaction } from '../state/local-state.ts';
import { formOf } from '../state/object-form.ts';
import type { Attributes, ProblemRow, UploadRow } from '../state/rows.ts';
import { addLink } from './links.ts';
import { isOfSameObject } from './merge-upload.ts';

/** The server does not remember such a refusal: the app may be updated, and the change is as good as before. */
export const APP_TOO_OLD = 'app_too_old';

/** Events of an outcome for the app; none if the upload was applied as expected. */
export type OutcomeEffects =
  | { readonly kind: 'problem'; readonly opId: string; readonly problem: ProblemRow }
  | { readonly kind: 'linked'; readonly source: string; readonly from: string; readonly to: string };

export interface OutcomeMoment {
  readonly nowMs: number;
  /** The number of this outcome among all that the device has received. */
  readonly settled: number;
  /** Returns the op_id for what is left of an update in conflict. */
  readonly newOpId: () => string;
}

/**
 * Applies an outcome in the transaction. The same outcome may arrive several times, by pushes and pulls; it is
 * acknowledged each time and counts once.
 */
export function settleOutcome(tx: Transaction, outcome: Outcome, moment: OutcomeMoment): readonly OutcomeEffects[] {
  const { op_id: opId, status } = outcome;
  const upload = tx.get('uploads', ['', opId]);
  if (status === 'queued') {
    // Pulls ask for outcomes group by group. A change made before the first pull names none, and the server has chosen it.
    const whose = outcome.group === undefined ? {} : { group: outcome.group };
    if (upload?.state === 'waiting') tx.put('uploads', ['', opId], { ...upload, ...whose, state: 'queued' });
    return [];
  }
  if (outcome.error?.code === APP_TOO_OLD) {
    if (upload?.state === 'waiting') tx.put('uploads', ['', opId], { ...upload, state: 'held' });
    return [];
  }
  tx.put('acknowledgements', ['', opId], scopeText(outcome));
  if (upload === undefined || upload.state === 'applied') return [];
  return status === 'applied' ? settleApplied(tx, upload, outcome, moment) : [rollBack(tx, upload, outcome, moment)];
}

function settleApplied(
  tx: Transaction,
  upload: UploadRow,
  outcome: Outcome,
  { settled }: OutcomeMoment,
): OutcomeEffects[] {
  const { op_id: opId, id } = outcome;
  const { source, id: from } = upload;
  if (id !== from) addLink(tx, source, from, id);
  const renamed = tx.get('uploads', ['', opId]) ?? upload;
  tx.put('uploads', ['', opId], { ...renamed, state: 'applied', settled });
  return id === from ? [] : [{ kind: 'linked', source, from, to: id }];
}

/**
 * Removes the change from the view, and keeps it as a problem for the app. Of an update in conflict only the attributes
 * that somebody else has changed are rolled back; the others are uploaded again.
 */
function rollBack(tx: Transaction, upload: UploadRow, outcome: Outcome, moment: OutcomeMoment): OutcomeEffects {
  const { op_id: opId, error, current, conflicting } = outcome;
  const { source, group, op, id, version } = upload;
  const description = tx.get('sources', ['', source])?.description;
  const currentSince = description && formOf(description)?.oldest;
  const isPartial = op === 'update' && outcome.status === 'conflict' && conflicting !== undefined;
  const names = new Set(conflicting);
  if (isPartial) uploadRest(tx, upload, names, moment.newOpId);
  const problem: ProblemRow = {
    source,
    ...(group === undefined ? {} : { group }),
    ...(version === undefined ? {} : { version }),
    op,
    id,
    ...(isPartial ? partOf(upload, (name) => names.has(name)) : partOf(upload, () => true)),
    status: outcome.status === 'conflict' ? 'conflict' : 'rejected',
    error: error ?? { code: 'unknown', detail: 'the server gave no reason' },
    current: (current ?? null) as Attributes | null,
    ...(currentSince === undefined ? {} : { currentSince }),
    atMs: moment.nowMs,
  };
  tx.delete('uploads', ['', opId]);
  addProblem(tx, opId, problem);
  return { kind: 'problem', opId, problem };
}

/** The rest takes the place of the update in the queue. What later uploads have changed meanwhile is left to them. */
function uploadRest(tx: Transaction, upload: UploadRow, conflicting: ReadonlySet<string>, newOpId: () => string): void {
  const later = [...tx.entries('uploads', '')]
    .map(([, row]) => row)
    .filter((row) => isOfSameObject(row, upload) && row.order > upload.order);
  if (later.some(({ op }) => op !== 'update')) return;
  const taken = new Set(
    later.flatMap(({ attributes, removed = [] }) => [...Object.keys(attributes ?? {}), ...removed]),
  );
  const { attributes, removed } = partOf(upload, (name) => !conflicting.has(name) && !taken.has(name));
  if (Object.keys(attributes ?? {}).length === 0 && removed === undefined) return;
  const { removed: _, ...kept } = upload;
  const rest = { ...kept, attributes, ...(removed === undefined ? {} : { removed }) };
  tx.put('uploads', ['', newOpId()], { ...rest, state: 'waiting', settled: null });
}

/** Returns the part of a change that concerns some of its attributes. */
function partOf(
  { attributes, removed = [] }: UploadRow,
  concerns: (name: string) => boolean,
): Pick<UploadRow, 'attributes' | 'removed'> {
  const names = removed.filter(concerns);
  return {
    attributes: attributes && frozen(Object.fromEntries(Object.entries(attributes).filter(([name]) => concerns(name)))),
    ...(names.length === 0 ? {} : { removed: names }),
  };
}

function addProblem(tx: Transaction, opId: string, problem: ProblemRow): void {
  const kept = [...tx.entries('problems', '')];
  for (const [oldest] of kept.slice(0, Math.max(0, kept.length + 1 - PROBLEMS_MAX)))
    tx.delete('problems', ['', oldest]);
  tx.put('problems', ['', opId], problem);
}
