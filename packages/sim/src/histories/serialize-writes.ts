import type { WriteReport } from '@tidemark/protocol';
import { type OracleState, oracleWrite } from './oracle-write.ts';
import type { Write } from './step.ts';

export interface AcknowledgedWrite {
  readonly write: Write;
  readonly report: WriteReport;
}

/** The states md went through if the writes were made in one particular order; the first is the one before them all. */
export type Trace = readonly [OracleState, ...OracleState[]];

/**
 * Every order in which writes made side by side may have happened, given what each was told: the seqs they report must
 * ascend, and each must have changed as many objects as it says.
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
 * Every state that may come of writes that raced with the end of a life: each of `racing` was either made before it and
 * is forgotten, or came late; those of `first` were surely made in the new life, in that order.
 */
export function possibleBeginnings(
  empty: OracleState,
  first: readonly Write[],
  racing: readonly Write[],
): readonly Trace[] {
  const results: Trace[] = [];
  const walk = (trace: Trace, state: OracleState, ahead: readonly Write[], late: readonly Write[]): void => {
    const [next, ...others] = ahead;
    if (next === undefined) results.push(trace);
    else step(trace, state, next, others, late);
    for (const write of late) {
      step(
        trace,
        state,
        write,
        ahead,
        late.filter((other) => other !== write),
      );
    }
  };
  const step = (trace: Trace, state: OracleState, write: Write, ahead: readonly Write[], late: readonly Write[]) => {
    const after = oracleWrite(state, write).state;
    walk([...trace, after], after, ahead, late);
  };
  walk([empty], empty, first, racing);
  return results;
}
