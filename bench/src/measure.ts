/** One way of doing a thing; a run does it once. */
export type Run = () => Promise<unknown> | unknown;

export interface Comparison {
  /** Median milliseconds per run. */
  readonly medianMs: readonly number[];
}

/**
 * Times several ways of doing a thing, taking turns, so that whatever else the machine does hits all of them alike.
 * Medians, because a shared machine only ever adds time.
 */
export async function compare(
  ways: readonly Run[],
  rounds: { readonly count: number; readonly runs: number },
): Promise<Comparison> {
  const times: number[][] = ways.map(() => []);
  for (const way of ways) await timed(way, Math.min(rounds.runs, 50));
  for (let round = 0; round < rounds.count; round++) {
    for (const [index, way] of ways.entries()) times[index]?.push((await timed(way, rounds.runs)) / rounds.runs);
  }
  return { medianMs: times.map(median) };
}

async function timed(run: Run, runs: number): Promise<number> {
  const start = performance.now();
  for (let count = 0; count < runs; count++) await run();
  return performance.now() - start;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error('nothing was measured');
  return middle;
}

/** How many fit into a second, for people. */
export function ratePerSecond(eachUs: number): string {
  return Math.round(1e6 / eachUs).toLocaleString('en');
}

/** The longest the event loop went without a turn while the work was under way. */
export async function longestHoldMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  let isDone = false;
  const watch = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isDone) setImmediate(watch);
  };
  setImmediate(watch);
  await work();
  isDone = true;
  watch();
  return longest;
}

/** The most CPU time that one turn of the event loop took while the work was under way; other processes do not count. */
export async function longestTurnCpuMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = process.cpuUsage();
  let isDone = false;
  const watch = () => {
    const { user, system } = process.cpuUsage(last);
    longest = Math.max(longest, (user + system) / 1_000);
    last = process.cpuUsage();
    if (!isDone) setImmediate(watch);
  };
  setImmediate(watch);
  await work();
  isDone = true;
  watch();
  return longest;
}
