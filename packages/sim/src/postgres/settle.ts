import type { ConnectorState } from '@tidemark/postgres';
import { demand } from '../runner/violation.ts';
import { differenceFrom } from './difference.ts';
import type { HistoryRun } from './history-run.ts';

/** Ends a wait for a connector that says nothing any more. */
const SILENT_MS_MAX = 120_000;
/** Ends a wait for one that only says the same; a busy machine takes a while. */
const SETTLE_MS_MAX = 400_000;
/** Users that rows wait for are looked up at heartbeats; after so many without a difference less, none is to be expected. */
const BEATS = 4;

/** Waits until nothing is left that the connector would read or apply. Returns false after a bounded time. */
export async function caughtUp(run: HistoryRun): Promise<boolean> {
  const { connector } = run;
  const deadline = AbortSignal.timeout(SETTLE_MS_MAX);
  let silence = { lines: connector.lines, deadline: AbortSignal.timeout(SILENT_MS_MAX) };
  while (!(await isIdle(run))) {
    if (deadline.aborted || silence.deadline.aborted) return false;
    await soon(connector.heard());
    if (connector.lines === silence.lines) continue;
    silence = { lines: connector.lines, deadline: AbortSignal.timeout(SILENT_MS_MAX) };
  }
  return true;
}

/** Waits until the connector has done everything, and demands that Tidemark has what SQL says. */
export async function settled(run: HistoryRun): Promise<void> {
  const { connector } = run;
  const stuck = () => {
    const last = connector.interruptions.slice(-2).map(({ reason }) => reason);
    const facts = `${connector.beats} heartbeats, position ${connector.position}`;
    return `the connector makes no progress (${facts}); it was interrupted by ${JSON.stringify(last)} and said ${connector.stderr}`;
  };
  demand(await caughtUp(run), 'PGSIM-7', stuck);
  const deadline = AbortSignal.timeout(SETTLE_MS_MAX);
  let last: Awaited<ReturnType<typeof differenceFrom>> = null;
  for (let beats = connector.beats; ; await soon(connector.heard())) {
    const difference = await differenceFrom(run);
    if (difference === null) return;
    if (last?.text !== difference.text) [last, beats] = [difference, connector.beats];
    demand(connector.beats < beats + BEATS, difference.rule, () => difference.text);
    demand(!deadline.aborted, 'PGSIM-7', stuck);
  }
}

/** The connector has stored where the log ends, and all tables are copied. */
export async function isIdle(run: HistoryRun): Promise<boolean> {
  const end = await run.database.lsn();
  return (await areReady(run)) && run.connector.position >= end;
}

/** Every table is copied and compared. */
async function areReady({ tidemark, name }: HistoryRun): Promise<boolean> {
  const text = await tidemark.state(`postgres.${name}`);
  if (text === null) return false;
  const { tables } = JSON.parse(text) as ConnectorState;
  return Object.values(tables).every(({ phase }) => phase.name === 'ready');
}

const LOOK_MS = 200;

/** Whatever is waited for, someone looks again now and then. */
export async function soon(happened: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const later = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, LOOK_MS);
  });
  await Promise.race([happened, later]);
  clearTimeout(timer);
}
