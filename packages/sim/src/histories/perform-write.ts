import { Refusal, type WriteReport } from '@tidemark/protocol';
import { oracleWrite } from './oracle-write.ts';
import { type ResolvedWrite, resolveWrite } from './resolve-write.ts';
import type { PlannedWrite, Write } from './step.ts';
import type { SubjectState } from './subject.ts';
import { demand, Violation } from './violation.ts';
import type { World } from './world.ts';

/** What became of a write: a report, or a refusal. */
export type WriteOutcome = WriteReport | Refusal;

export async function tryWrite(world: World, write: Write): Promise<WriteOutcome> {
  try {
    return await world.subject.write(write);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

export async function performWrite(world: World, planned: PlannedWrite): Promise<void> {
  const { place } = planned;
  const resolved = await resolveWrite(world, planned);
  const before = await world.state(place);
  const outcome = await tryWrite(world, resolved.write);
  world.noteWrite(place);
  if (outcome instanceof Refusal) return excuse(world, resolved, outcome);
  const effect = oracleWrite(world.oracle.state(place), resolved.write);
  world.oracle.advance(place, [effect.state]);
  const after = await world.state(place);
  checkReport(resolved.write, outcome, effect, { before, after });
}

/**
 * The only good reasons to refuse a legal write: the answer of a query is older than what was forgotten since, or comes
 * from an earlier life.
 */
export async function excuse(world: World, { write, query }: ResolvedWrite, refusal: Refusal): Promise<void> {
  const { floor } = await world.state(write.place);
  const isOld = query !== null && (floor > query.floor || query.life !== world.oracle.life(write.place));
  const isStale = refusal.code === 'refresh_stale' && isOld;
  demand(isStale, 'SIM-2', () => `${write.kind} was refused with ${refusal.code}: ${refusal.message}`);
}

function checkReport(
  write: Write,
  report: WriteReport,
  effect: { readonly changed: number; readonly unchanged: number },
  { before, after }: { readonly before: SubjectState; readonly after: SubjectState },
): void {
  const told = () => `${write.kind} reports ${JSON.stringify(report)}, head went from ${before.head} to ${after.head}`;
  demand(report.changed === effect.changed, 'SIM-1', () => `${told()}; really changed: ${effect.changed}`);
  demand(report.seq === after.head, 'SIM-1', () => `${told()}: a seq that is not the head`);
  demand(after.head > before.head === effect.changed > 0, 'SIM-1', () => `${told()}: the head must move with a change`);
  // A refresh does not say which of the objects it left alone it looked at.
  if (write.kind === 'replace') return;
  demand(report.unchanged === effect.unchanged, 'SIM-1', () => `${told()}; really unchanged: ${effect.unchanged}`);
}

/** One illegal name or value among legal ones refuses the whole call. */
export async function performBadWrite(world: World, write: Write): Promise<void> {
  world.noteWrite(write.place);
  const outcome = await tryWrite(world, write);
  if (!(outcome instanceof Refusal))
    throw new Violation('SIM-2', `an illegal write was taken: ${JSON.stringify(write)}`);
}
