/** A task of the main thread of a page. */
export interface MainThreadTask {
  /** Processor time, which the load of the machine does not change much. */
  readonly cpuMs: number;
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** Processor time in microseconds. */
  readonly tdur?: number;
}

const US_PER_MS = 1_000;

/** What a trace of Chromium must include for `mainThreadTasks`. */
export const TASK_CATEGORIES: readonly string[] = ['toplevel', 'blink.user_timing'];

/** Returns the tasks of the page that has set this mark while it was traced. */
export function mainThreadTasks(trace: Buffer, mark: string): readonly MainThreadTask[] {
  const { traceEvents } = JSON.parse(trace.toString('utf8')) as { readonly traceEvents: readonly TraceEvent[] };
  const marked = traceEvents.find(({ name }) => name === mark);
  if (marked === undefined) throw new Error(`the trace has no mark ${mark}`);
  return traceEvents
    .filter(({ pid, tid }) => pid === marked.pid && tid === marked.tid)
    .filter(({ ph, name }) => ph === 'X' && name.endsWith('RunTask'))
    .map(({ tdur = 0 }) => ({ cpuMs: tdur / US_PER_MS }));
}

export function longestMs(tasks: readonly MainThreadTask[]): number {
  return Math.max(0, ...tasks.map(({ cpuMs }) => cpuMs));
}
