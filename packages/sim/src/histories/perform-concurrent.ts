import { Refusal } from '@tidemark/protocol';
import { difference, snapshotOf } from '../model/objects.ts';
import type { OracleState } from '../model/oracle-state.ts';
import type { ModelPartition } from '../model/partition.ts';
import { partitionText } from '../model/partition.ts';
import { demand, Violation } from '../runner/violation.ts';
import { readTexts } from './check-documents.ts';
import { examinePage, type ServedPage } from './examine-page.ts';
import type { HistoryRun, SimulatedDevice } from './history-run.ts';
import { deliver, pullRequest, recordToken } from './perform-pull.ts';
import { checkRefusal, tryWrite, type WriteOutcome } from './perform-write.ts';
import { type ResolvedWrite, resolveWrite } from './resolve-write.ts';
import { type AcknowledgedWrite, lastOf, possibleTraces, type Trace } from './serialize-writes.ts';
import type { PageSize, Step } from './step.ts';

type Concurrent = Extract<Step, { kind: 'concurrent' }>;
const CONCURRENT_TRIMS = 4;

type PageUnexamined = Omit<ServedPage, 'states' | 'head' | 'floor' | 'trimmedMeanwhile'>;

/**
 * Performs writes, pulls and perhaps a trim of one partition at the same time. Afterwards some order of the acknowledged
 * writes must explain md, and every page must fit one of the states of such an order.
 */
export async function performConcurrent(run: HistoryRun, step: Concurrent): Promise<void> {
  const partition = step.writes[0]?.partition;
  if (partition === undefined) return;
  const before = run.oracle.state(partition);
  const { head } = await run.status(partition);
  const resolved: ResolvedWrite[] = [];
  for (const planned of step.writes) resolved.push(await resolveWrite(run, planned));
  const pulling = devicesOf(run, partition, step);

  const [outcomes, pages, read] = await Promise.all([
    Promise.all(resolved.map(({ write }) => tryWrite(run, write))),
    Promise.all(pulling.map(([device, size]) => pullMeanwhile(run, device, size))),
    readTexts(run, partition),
    step.trim === null ? null : trimMeanwhile(run, partition, step.trim),
  ]);

  run.markWritten(partition);
  if (step.trim !== null) run.tokens.putAllAtRisk(partition);
  const acknowledged = await acknowledgedOf(run, resolved, outcomes);
  const traces = await settle(run, partition, before, acknowledged);
  const states = traces.toReversed().flat();
  checkRead(partition, read, states);
  const { floor } = await run.status(partition);
  for (const page of pages) {
    const served = { ...page, states, head, floor, trimmedMeanwhile: step.trim !== null };
    deliver(run, page.device, examinePage(run, served));
  }
}

/** Checks that a concurrent read of md, however many slices it took, returned md as it was at one moment. */
function checkRead(partition: ModelPartition, read: ReadonlyMap<string, string>, states: readonly OracleState[]): void {
  const names = { actual: 'what was read', expected: 'md' };
  const differences = states.map(({ objects }) => difference(read, snapshotOf(objects).texts, names));
  demand(
    differences.includes(null),
    'SIM-2',
    () => `${partitionText(partition)} never was in the state that was read: ${differences[0]}`,
  );
}

/** Trims up to a part of the present head, so that tombstones of the concurrent writes are trimmed too. */
async function trimMeanwhile(run: HistoryRun, partition: ModelPartition, part: number): Promise<void> {
  for (let count = 0; count < CONCURRENT_TRIMS; count++) {
    const { head } = await run.server.status(partition);
    await run.server.forceTrim(partition, part < 0.5 ? Math.floor(part * head) : head);
  }
}

/** Returns the devices that pull, each once: a device would ignore the second answer. */
function devicesOf(run: HistoryRun, partition: ModelPartition, step: Concurrent): [SimulatedDevice, PageSize][] {
  const chosen = new Map<SimulatedDevice, PageSize>();
  for (const { device: index, ...size } of step.pulls) {
    const device = run.device(index);
    if (partitionText(device.partition) === partitionText(partition)) chosen.set(device, size);
  }
  return [...chosen];
}

async function pullMeanwhile(run: HistoryRun, device: SimulatedDevice, size: PageSize): Promise<PageUnexamined> {
  const asked = device.model.token;
  const issue = recordToken(run, device, asked);
  const text = await run.server.pull(pullRequest(device, { token: asked, size }));
  run.tokens.recordMaybeSent(device.partition, device.spec.client);
  return { device, asked, issue, size, text };
}

async function acknowledgedOf(
  run: HistoryRun,
  resolved: readonly ResolvedWrite[],
  outcomes: readonly WriteOutcome[],
): Promise<AcknowledgedWrite[]> {
  const acknowledged: AcknowledgedWrite[] = [];
  for (const [index, write] of resolved.entries()) {
    const outcome = outcomes[index];
    if (outcome instanceof Refusal) await checkRefusal(run, write, outcome);
    else if (outcome !== undefined) acknowledged.push({ write: write.write, report: outcome });
  }
  return acknowledged;
}

/** Finds the orders that explain md, takes the first as what happened, and returns them all. */
async function settle(
  run: HistoryRun,
  partition: ModelPartition,
  before: OracleState,
  acknowledged: readonly AcknowledgedWrite[],
): Promise<Trace[]> {
  const possible = possibleTraces(before, acknowledged);
  const [chosen, ...others] = await explaining(run, partition, possible);
  if (chosen === undefined) throw new Violation('SIM-2', await unexplained(run, partition, possible, acknowledged));
  run.oracle.advance(partition, chosen.slice(1));
  run.oracle.rememberPossible(partition, others.flat());
  // Later refreshes depend on what changed when. Where the orders disagree about that, open queries are dropped.
  if (others.some((other) => !sameKeys(lastOf(other).touched, lastOf(chosen).touched, before)))
    run.dropQueries(partition);
  return [chosen, ...others];
}

function sameKeys(left: OracleState['touched'], right: OracleState['touched'], before: OracleState): boolean {
  const movedIn = (touched: OracleState['touched']) =>
    [...touched].filter(([id, time]) => time !== before.touched.get(id)).map(([id]) => id);
  return movedIn(left).sort().join('\n') === movedIn(right).sort().join('\n');
}

export async function explaining(
  run: HistoryRun,
  partition: ModelPartition,
  traces: readonly Trace[],
): Promise<Trace[]> {
  const texts = await readTexts(run, partition);
  const names = { actual: '', expected: '' };
  return traces.filter((trace) => difference(texts, snapshotOf(lastOf(trace).objects).texts, names) === null);
}

async function unexplained(
  run: HistoryRun,
  partition: ModelPartition,
  possible: readonly Trace[],
  acknowledged: readonly AcknowledgedWrite[],
): Promise<string> {
  const writes = acknowledged.map(({ write, report }) => `${JSON.stringify(write)} → ${JSON.stringify(report)}`);
  const md = JSON.stringify([...(await readTexts(run, partition))]);
  return `${possible.length} possible orders, none explains md ${md} of ${partitionText(partition)} after ${writes.join(' beside ')}`;
}
