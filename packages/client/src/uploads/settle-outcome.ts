import type { Outcome } from '@tidemark/protocol';
import { PROBLEMS_MAX } from '../limits.ts';
import type { Transaction } from '../state/local-state.ts';
import type { Attributes, ProblemRow, UploadRow } from '../state/rows.ts';
import { addLink } from './links.ts';

/** Events of an outcome for the app; none if the upload was applied as expected. */
export type OutcomeEffects =
  | { readonly kind: 'problem'; readonly opId: string; readonly problem: ProblemRow }
  | { readonly kind: 'linked'; readonly source: string; readonly from: string; readonly to: string };

export interface OutcomeMoment {
  readonly nowMs: number;
  /** The number of this outcome among all that the device has received. */
  readonly settled: number;
}

/**
 * Applies an outcome in the transaction. The same outcome may arrive several times, by pushes and pulls; it is
 * acknowledged each time and counts once.
 */
export function settleOutcome(tx: Transaction, outcome: Outcome, moment: OutcomeMoment): readonly OutcomeEffects[] {
  const { op_id: opId, source, status } = outcome;
  const upload = tx.get('uploads', ['', opId]);
  if (status === 'queued') {
    if (upload?.state === 'waiting') tx.put('uploads', ['', opId], { ...upload, state: 'queued' });
    return [];
  }
  tx.put('acknowledgements', ['', opId], source);
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

/** Removes the change from the view, and keeps it as a problem for the app. */
function rollBack(tx: Transaction, upload: UploadRow, outcome: Outcome, { nowMs }: OutcomeMoment): OutcomeEffects {
  const { op_id: opId, error, current } = outcome;
  const { source, op, id, attributes, removed } = upload;
  const problem: ProblemRow = {
    source,
    op,
    id,
    attributes,
    ...(removed === undefined ? {} : { removed }),
    status: outcome.status === 'conflict' ? 'conflict' : 'rejected',
    error: error ?? { code: 'unknown', detail: 'the server gave no reason' },
    current: (current ?? null) as Attributes | null,
    atMs: nowMs,
  };
  tx.delete('uploads', ['', opId]);
  addProblem(tx, opId, problem);
  return { kind: 'problem', opId, problem };
}

function addProblem(tx: Transaction, opId: string, problem: ProblemRow): void {
  const kept = [...tx.entries('problems', '')];
  for (const [oldest] of kept.slice(0, Math.max(0, kept.length + 1 - PROBLEMS_MAX)))
    tx.delete('problems', ['', oldest]);
  tx.put('problems', ['', opId], problem);
}
