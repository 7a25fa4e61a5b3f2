import { Refusal } from '@tidemark/protocol';
import { readTexts } from './check-documents.ts';
import { examinePage, type ServedPage } from './examine-page.ts';
import type { OracleState } from './oracle-write.ts';
import { deliver, presentToken, pullRequest } from './perform-pull.ts';
import { excuse, tryWrite, type WriteOutcome } from './perform-write.ts';
import { type Place, placeKey } from './place.ts';
import { type ResolvedWrite, resolveWrite } from './resolve-write.ts';
import { type AcknowledgedWrite, lastOf, possibleTraces, type Trace } from './serialize-writes.ts';
import { difference, snapshotOf } from './snapshot.ts';
import type { PageSize, Step } from './step.ts';
import { demand, Violation } from './violation.ts';
import type { Station, World } from './world.ts';

type Together = Extract<Step, { kind: 'together' }>;
const TRIMS_TOGETHER = 4;

type PageUnexamined = Omit<ServedPage, 'states' | 'head' | 'floor' | 'trimmedMeanwhile'>;

/**
 * Writes, pulls and perhaps a trim of one partition, all at once. Afterwards md must be what some order of the
 * acknowledged writes makes of it, and every page must fit one of the states on such a way.
 */
export async function performTogether(world: World, step: Together): Promise<void> {
  const place = step.writes[0]?.place;
  if (place === undefined) return;
  const before = world.oracle.state(place);
  const { head } = await world.state(place);
  const resolved: ResolvedWrite[] = [];
  for (const planned of step.writes) resolved.push(await resolveWrite(world, planned));
  const pulling = stationsOf(world, place, step);

  const [outcomes, pages, read] = await Promise.all([
    Promise.all(resolved.map(({ write }) => tryWrite(world, write))),
    Promise.all(pulling.map(([station, size]) => pullMeanwhile(world, station, size))),
    readTexts(world, place),
    step.trim === null ? null : trimMeanwhile(world, place, step.trim),
  ]);

  world.noteWrite(place);
  if (step.trim !== null) world.tokens.endangerAll(place);
  const acknowledged = await acknowledgedOf(world, resolved, outcomes);
  const traces = await settle(world, place, before, acknowledged);
  const states = traces.toReversed().flat();
  checkRead(place, read, states);
  const { floor } = await world.state(place);
  for (const page of pages) {
    const served = { ...page, states, head, floor, trimmedMeanwhile: step.trim !== null };
    deliver(world, page.station, examinePage(world, served));
  }
}

/** Whoever read md meanwhile, however many slices that took, got it as it was at one moment. */
function checkRead(place: Place, read: ReadonlyMap<string, string>, states: readonly OracleState[]): void {
  const words = { actual: 'what was read', expected: 'md' };
  const differences = states.map(({ objects }) => difference(read, snapshotOf(objects).texts, words));
  demand(differences.includes(null), 'SIM-2', () => `${placeKey(place)} never was as it was read: ${differences[0]}`);
}

/** Up to a part of what is there by then, so that tombstones go which the writes beside it have just made. */
async function trimMeanwhile(world: World, place: Place, part: number): Promise<void> {
  for (let count = 0; count < TRIMS_TOGETHER; count++) {
    const { head } = await world.subject.state(place);
    await world.subject.trimBrutally(place, part < 0.5 ? Math.floor(part * head) : head);
  }
}

/** Each device pulls at most once: it would ignore the second answer anyway. */
function stationsOf(world: World, place: Place, step: Together): [Station, PageSize][] {
  const chosen = new Map<Station, PageSize>();
  for (const { device, ...size } of step.pulls) {
    const station = world.station(device);
    if (placeKey(station.place) === placeKey(place)) chosen.set(station, size);
  }
  return [...chosen];
}

async function pullMeanwhile(world: World, station: Station, size: PageSize): Promise<PageUnexamined> {
  const asked = station.device.token;
  const issue = presentToken(world, station, asked);
  const text = await world.subject.pull(pullRequest(station, { token: asked, size }));
  return { station, asked, issue, size, text };
}

async function acknowledgedOf(
  world: World,
  resolved: readonly ResolvedWrite[],
  outcomes: readonly WriteOutcome[],
): Promise<AcknowledgedWrite[]> {
  const acknowledged: AcknowledgedWrite[] = [];
  for (const [index, write] of resolved.entries()) {
    const outcome = outcomes[index];
    if (outcome instanceof Refusal) await excuse(world, write, outcome);
    else if (outcome !== undefined) acknowledged.push({ write: write.write, report: outcome });
  }
  return acknowledged;
}

/** Finds the orders that explain what md is now, takes the first as what happened, and answers them all. */
async function settle(
  world: World,
  place: Place,
  before: OracleState,
  acknowledged: readonly AcknowledgedWrite[],
): Promise<Trace[]> {
  const possible = possibleTraces(before, acknowledged);
  const [chosen, ...others] = await explaining(world, place, possible);
  if (chosen === undefined) throw new Violation('SIM-2', await unexplained(world, place, possible, acknowledged));
  world.oracle.advance(place, chosen.slice(1));
  world.oracle.rememberPossible(place, others.flat());
  // Later refreshes depend on what changed when; where that is in doubt, queries begun before are not followed up.
  if (others.some((other) => !sameKeys(lastOf(other).touched, lastOf(chosen).touched, before)))
    world.dropQueries(place);
  return [chosen, ...others];
}

function sameKeys(left: OracleState['touched'], right: OracleState['touched'], before: OracleState): boolean {
  const movedIn = (touched: OracleState['touched']) =>
    [...touched].filter(([id, time]) => time !== before.touched.get(id)).map(([id]) => id);
  return movedIn(left).sort().join('\n') === movedIn(right).sort().join('\n');
}

export async function explaining(world: World, place: Place, traces: readonly Trace[]): Promise<Trace[]> {
  const texts = await readTexts(world, place);
  const words = { actual: '', expected: '' };
  return traces.filter((trace) => difference(texts, snapshotOf(lastOf(trace).objects).texts, words) === null);
}

async function unexplained(
  world: World,
  place: Place,
  possible: readonly Trace[],
  acknowledged: readonly AcknowledgedWrite[],
): Promise<string> {
  const told = acknowledged.map(({ write, report }) => `${JSON.stringify(write)} → ${JSON.stringify(report)}`);
  const md = JSON.stringify([...(await readTexts(world, place))]);
  return `${possible.length} possible orders, none explains md ${md} of ${placeKey(place)} after ${told.join(' beside ')}`;
}
