import { canonicalJson, type JsonValue } from '@tidemark/protocol';
import type { AnswerInFlight } from './network.ts';
import type { OracleState } from './oracle-write.ts';
import { ownerMark, PLACES, placeKey } from './place.ts';
import { mentions, type PageRead, readPage } from './read-page.ts';
import { type Snapshot, snapshotOf } from './snapshot.ts';
import type { PageSize } from './step.ts';
import type { TokenIssue } from './token-ledger.ts';
import { demand, type Rule, Violation } from './violation.ts';
import type { Station, World } from './world.ts';

export interface ServedPage {
  readonly station: Station;
  readonly asked: string | null;
  /** What was known of the token when it was presented. */
  readonly issue: TokenIssue | undefined;
  readonly size: PageSize;
  readonly text: string;
  /** The states md may have been in; the last one is the newest. */
  readonly states: readonly OracleState[];
  /** The head of the partition in the oldest of these states. */
  readonly head: number;
  /** Its floor when the page was made, or later. */
  readonly floor: number;
  /** A trim ran at the same time, so nobody can say which of the two came first. */
  readonly trimmedMeanwhile: boolean;
}

/** Checks all that can be checked of a page the moment it leaves the server, whether or not it ever arrives. */
export function examinePage(world: World, served: ServedPage): AnswerInFlight {
  const page = readPage(served.text);
  checkOwner(served);
  checkBounds(page, served.size);
  checkReset(world, served, page);
  const expected = checkContent(served, page);
  checkThrift(served, page);
  learnToken(world, served, page);
  return { asked: served.asked, page, life: world.oracle.life(served.station.place), expected };
}

export function checkOwner({ station, text }: Pick<ServedPage, 'station' | 'text'>): void {
  const own = placeKey(station.place);
  for (const place of PLACES) {
    if (placeKey(place) === own) continue;
    demand(!text.includes(ownerMark(place)), 'SIM-5', () => `${own} was sent data of ${placeKey(place)}: ${text}`);
  }
}

function checkBounds(page: PageRead, size: PageSize): void {
  const ids = mentions(page);
  demand(ids.length <= size.objectsMax, 'SIM-6', () => `${ids.length} objects on a page of ${size.objectsMax}`);
  demand(new Set(ids).size === ids.length, 'SIM-6', () => `a page mentions an id twice: ${ids.join(' ')}`);
  for (const [id, names] of Object.entries(page.drop ?? {})) {
    const attributes = [
      ...names,
      ...Object.keys((page.patch && Object.hasOwn(page.patch, id) && page.patch[id]) || {}),
    ];
    demand(
      new Set(attributes).size === attributes.length,
      'SIM-6',
      () => `an attribute of ${id} stands twice on a page: ${attributes.join(' ')}`,
    );
  }
}

function checkReset(world: World, served: ServedPage, page: PageRead): void {
  const { asked, issue, station } = served;
  const life = world.oracle.life(station.place);
  const isReset = page.reset === true;
  if (asked === null) demand(isReset, 'SIM-7', () => 'a device without a token was not told to start over');
  else if (issue === undefined) demand(isReset, 'SIM-7', () => `${asked}, which nobody gave out, passed for a token`);
  if (issue === undefined) return;
  // A token given out before anything was ever written stands for nothing, in whatever life.
  if (!issue.written) return;
  if (issue.life !== life) demand(isReset, 'SIM-7', () => 'a token of another life was taken for a good one');
  else if (!issue.endangered && !served.trimmedMeanwhile) {
    demand(!isReset, 'SIM-7', () => 'a device with a good token was made to start over');
  }
}

/** Answers the states the page agrees with; at least one must be left. */
function checkContent(served: ServedPage, page: PageRead): Snapshot[] {
  const problems: Violation[] = [];
  const agreeing: Snapshot[] = [];
  for (const state of served.states) {
    const problem = contradiction(page, state);
    if (problem === null) agreeing.push(snapshotOf(state.objects));
    else problems.push(problem);
  }
  const [first] = problems;
  if (agreeing.length === 0 && first !== undefined) throw first;
  return agreeing;
}

/** How a page contradicts a state of md; null when it does not. */
function contradiction(page: PageRead, state: OracleState): Violation | null {
  const { size, checksum, texts } = snapshotOf(state.objects);
  const wrong = (rule: Rule, detail: string) => new Violation(rule, `${detail} on the page ${JSON.stringify(page)}`);
  if (page.size !== size) return wrong('SIM-3', `size ${page.size} where md has ${size}`);
  if (!page.more && page.checksum !== checksum) return wrong('SIM-3', `checksum ${page.checksum}, not ${checksum},`);
  for (const id of page.delete ?? []) if (texts.has(id)) return wrong('SIM-4', `living ${JSON.stringify(id)} deleted`);
  for (const [id, given] of Object.entries(page.put ?? {})) {
    const attributes = state.objects.get(id);
    if (attributes === undefined || attributes.size !== Object.keys(given).length || !agrees(attributes, given)) {
      return wrong('SIM-4', `put ${JSON.stringify(id)} is not what md has, ${texts.get(id)},`);
    }
  }
  for (const [id, given] of Object.entries(page.patch ?? {})) {
    if (!agrees(state.objects.get(id), given)) return wrong('SIM-4', `patch ${JSON.stringify(id)} is not what md has`);
  }
  for (const [id, names] of Object.entries(page.drop ?? {})) {
    const attributes = state.objects.get(id);
    if (names.some((name) => attributes?.has(name) ?? true))
      return wrong('SIM-4', `drop ${JSON.stringify(id)} of what md has`);
  }
  return null;
}

function agrees(
  attributes: ReadonlyMap<string, string> | undefined,
  given: Readonly<Record<string, JsonValue>>,
): boolean {
  return Object.entries(given).every(([name, value]) => attributes?.get(name) === canonicalJson(value));
}

/** A page carries only what changed since the device last had everything. */
function checkThrift({ issue, states, floor }: ServedPage, page: PageRead): void {
  const base = issue?.base;
  const state = states.at(-1);
  if (page.reset === true || base === undefined || base === null || state === undefined) return;
  const idle = mentions(page).find((id) => (state.touched.get(id) ?? 0) <= base.time);
  demand(idle === undefined, 'SIM-8', () => `${JSON.stringify(idle)} was sent though it had not changed`);
  for (const [id, given] of Object.entries(page.patch ?? {})) {
    const times = state.attributesTouched.get(id);
    const same = Object.keys(given).find((name) => (times?.get(name) ?? 0) <= base.time);
    demand(same === undefined, 'SIM-8', () => `${JSON.stringify(same)} of ${id} was sent though it had not changed`);
  }
  if (base.head < floor) return;
  const whole = Object.keys(page.put ?? {}).find((id) => (state.born.get(id) ?? 0) <= base.time);
  demand(whole === undefined, 'SIM-8', () => `${JSON.stringify(whole)} was sent whole though the device holds it`);
}

function learnToken(world: World, served: ServedPage, page: PageRead): void {
  const { station, asked, issue, head } = served;
  const time = served.states[0]?.time ?? 0;
  const pending = page.reset === true ? null : (issue?.base ?? null);
  world.tokens.issue(station.place, page.token, {
    life: world.oracle.life(station.place),
    written: time > 0,
    askedWith: asked,
    base: page.more ? pending : { time, head },
    endangered: served.trimmedMeanwhile,
  });
}
