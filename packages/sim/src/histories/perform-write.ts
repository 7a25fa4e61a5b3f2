import { Refusal, type WriteReport } from '@tidemark/protocol';
import { oracleWrite } from '../model/oracle-state.ts';
import type { Write } from '../model/write.ts';
import { demand, Violation } from '../runner/violation.ts';
import type { HistoryRun } from './history-run.ts';
import { type ResolvedWrite, resolveWrite } from './resolve-write.ts';
import type { PartitionStatus } from './server-under-test.ts';
import type { PlannedWrite } from './step.ts';

export type WriteOutcome = WriteReport | Refusal;

export async function tryWrite(run: HistoryRun, write: Write): Promise<WriteOutcome> {
  try {
    return await run.server.write(write);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

export async function performWrite(run: HistoryRun, planned: PlannedWrite): Promise<void> {
  const { partition } = planned;
  const resolved = await resolveWrite(run, planned);
  const before = await run.status(partition);
  const outcome = await tryWrite(run, resolved.write);
  run.markWritten(partition);
  if (outcome instanceof Refusal) return checkRefusal(run, resolved, outcome);
  const effect = oracleWrite(run.oracle.state(partition), resolved.write);
  run.oracle.advance(partition, [effect.state]);
  const after = await run.status(partition);
  checkReport(resolved.write, outcome, effect, { before, after });
}

/**
 * Checks the refusal of a legal write. The only good reason is that the answer of a query is older than the floor, or
 * belongs to an earlier generation.
 */
export async function checkRefusal(run: HistoryRun, { write, query }: ResolvedWrite, refusal: Refusal): Promise<void> {
  const { floor } = await run.status(write.partition);
  const isOld = query !== null && (floor > query.floor || query.generation !== run.oracle.generation(write.partition));
  const isStale = refusal.code === 'refresh_stale' && isOld;
  demand(isStale, 'SIM-2', () => `${write.kind} was refused with ${refusal.code}: ${refusal.message}`);
}

function checkReport(
  write: Write,
  report: WriteReport,
  effect: { readonly changed: number; readonly unchanged: number },
  { before, after }: { readonly before: PartitionStatus; readonly after: PartitionStatus },
): void {
  const facts = () => `${write.kind} reports ${JSON.stringify(report)}, head went from ${before.head} to ${after.head}`;
  demand(
    report.changed === effect.changed,
    'SIM-1',
    () => `${facts()}; changed according to the oracle: ${effect.changed}`,
  );
  demand(report.seq === after.head, 'SIM-1', () => `${facts()}: the seq is not the head`);
  demand(
    after.head > before.head === effect.changed > 0,
    'SIM-1',
    () => `${facts()}: the head must move with a change`,
  );
  // A refresh does not report which unchanged objects it compared.
  if (write.kind === 'replace') return;
  demand(
    report.unchanged === effect.unchanged,
    'SIM-1',
    () => `${facts()}; unchanged according to the oracle: ${effect.unchanged}`,
  );
}

/** Performs a write with one illegal name or value, which the server must refuse as a whole. */
export async function performBadWrite(run: HistoryRun, write: Write): Promise<void> {
  run.markWritten(write.partition);
  const outcome = await tryWrite(run, write);
  if (!(outcome instanceof Refusal))
    throw new Violation('SIM-2', `the server accepted an illegal write: ${JSON.stringify(write)}`);
}
