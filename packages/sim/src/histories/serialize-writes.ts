import type { WriteReport } from '@tidemark/protocol';
import { type OracleState, oracleWrite } from '../model/oracle-state.ts';
import type { Write } from '../model/write.ts';

export interface AcknowledgedWrite {
  readonly write: Write;
  readonly report: WriteReport;
}

/** The states of md for one order of the writes; the first is the state before all of them. */
export type Trace = readonly [OracleState, ...OracleState[]];

/**
 * Returns every order in which concurrent writes may have happened, given their reports: the reported seqs ascend, and
 * each write changed as many objects as it reports.
 */
export function possibleTraces(before: OracleState, writes: readonly AcknowledgedWrite[]): Trace[] {
  return extend([before], before, writes, -1);
}

function extend(trace: Trace, state: OracleState, rest: readonly AcknowledgedWrite[], seq: number): Trace[] {
  if (rest.length === 0) return [trace];
  return rest.flatMap((next) => {
    if (next.report.seq < seq) return [];
    const effect = oracleWrite(state, next.write);
    if (effect.changed !== next.report.changed) return [];
    const others = rest.filter((other) => other !== next);
    return extend([...trace, effect.state], effect.state, others, next.report.seq);
  });
}

export function lastOf(trace: Trace): OracleState {
  return trace[trace.length - 1] ?? trace[0];
}

/**
 * Returns every trace of a new generation that raced with writes: each write of `racing` either came before its begin and
 * is gone, or came late; those of `first` were made in the new generation, in that order.
 */
export function possibleBeginnings(
  empty: OracleState,
  first: readonly Write[],
  racing: readonly Write[],
): readonly Trace[] {
  const results: Trace[] = [];
  const walk = (trace: Trace, ahead: readonly Write[], late: readonly Write[]): void => {
    const after = (write: Write): Trace => [...trace, oracleWrite(lastOf(trace), write).state];
    const [next, ...others] = ahead;
    if (next === undefined) results.push(trace);
    else walk(after(next), others, late);
    for (const write of late) {
      const rest = late.filter((other) => other !== write);
      walk(after(write), ahead, rest);
    }
  };
  walk([empty], first, racing);
  return results;
}
