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
  readonly args?: { readonly name?: string };
}

const US_PER_MS = 1_000;

/** Returns the tasks in a trace of Chromium with the category `toplevel`: those of the page that worked most. */
export function mainThreadTasks(trace: Buffer): readonly MainThreadTask[] {
  const { traceEvents } = JSON.parse(trace.toString('utf8')) as { readonly traceEvents: readonly TraceEvent[] };
  const threads = traceEvents.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain');
  const tasks = threads.map(({ pid, tid }) =>
    traceEvents
      .filter((event) => event.pid === pid && event.tid === tid && event.ph === 'X' && event.name.endsWith('RunTask'))
      .map(({ tdur = 0 }) => ({ cpuMs: tdur / US_PER_MS })),
  );
  return tasks.sort((left, right) => sumMs(right) - sumMs(left))[0] ?? [];
}

function sumMs(tasks: readonly MainThreadTask[]): number {
  return tasks.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}
