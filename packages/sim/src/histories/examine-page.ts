import { canonicalJson } from '@tidemark/protocol';
import { type Snapshot, snapshotOf } from '../model/objects.ts';
import type { OracleState } from '../model/oracle-state.ts';
import { mentions, type PageRead, readPage } from '../model/page.ts';
import { partitionText } from '../model/partition.ts';
import type { Attributes } from '../model/write.ts';
import { demand, type Rule, Violation } from '../runner/violation.ts';
import type { HistoryRun, SimulatedDevice } from './history-run.ts';
import type { AnswerInFlight } from './network.ts';
import { ownerMark, PARTITIONS } from './partitions.ts';
import type { PageSize } from './step.ts';
import type { TokenIssue } from './token-ledger.ts';

export interface ServedPage {
  readonly device: SimulatedDevice;
  readonly asked: string | null;
  /** What was known of the token when the device sent it. */
  readonly issue: TokenIssue | undefined;
  readonly size: PageSize;
  readonly text: string;
  /** The states md may have been in; the last one is the newest. */
  readonly states: readonly OracleState[];
  /** The head of the partition in the oldest of these states. */
  readonly head: number;
  /** The floor of the partition when the page was made, or later. */
  readonly floor: number;
  /** True: a trim ran at the same time, and either may have come first. */
  readonly trimmedMeanwhile: boolean;
}

/** Checks everything about a page that can be checked when it leaves the server. */
export function examinePage(run: HistoryRun, served: ServedPage): AnswerInFlight {
  const page = readPage(served.text);
  checkOwner(served);
  checkBounds(page, served.size);
  checkReset(run, served, page);
  const expected = checkContent(served, page);
  checkOnlyChanges(served, page);
  learnToken(run, served, page);
  return { asked: served.asked, page, generation: run.oracle.generation(served.device.partition), expected };
}

export function checkOwner({ device, text }: Pick<ServedPage, 'device' | 'text'>): void {
  const own = partitionText(device.partition);
  for (const partition of PARTITIONS) {
    if (partitionText(partition) === own) continue;
    demand(
      !text.includes(ownerMark(partition)),
      'SIM-5',
      () => `${own} got data of ${partitionText(partition)}: ${text}`,
    );
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

function checkReset(run: HistoryRun, served: ServedPage, page: PageRead): void {
  const { asked, issue, device } = served;
  const generation = run.oracle.generation(device.partition);
  const isReset = page.reset === true;
  if (asked === null) demand(isReset, 'SIM-7', () => 'a device without a token got a page without reset');
  else if (issue === undefined) demand(isReset, 'SIM-7', () => `the server accepted ${asked}, which it never issued`);
  if (issue === undefined) return;
  // A token issued before anything was ever written is good in every generation.
  if (!issue.written) return;
  if (issue.isLost) demand(isReset, 'SIM-7', () => 'the server accepted a token of a state that was lost');
  else if (issue.generation !== generation)
    demand(isReset, 'SIM-7', () => 'the server accepted a token of another generation');
  else if (!issue.isAtRisk && !served.trimmedMeanwhile) {
    demand(!isReset, 'SIM-7', () => 'a device with a good token had to start over');
  }
}

/** Returns the states that the page agrees with. Throws when there is none. */
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

/** Returns how a page contradicts a state of md; null: it does not. */
function contradiction(page: PageRead, state: OracleState): Violation | null {
  const { size, checksum } = snapshotOf(state.objects);
  const wrong = (rule: Rule, detail: string) => new Violation(rule, `${detail} on the page ${JSON.stringify(page)}`);
  if (page.size !== size) return wrong('SIM-3', `size ${page.size} where md has ${size}`);
  if (!page.more && page.checksum !== checksum) return wrong('SIM-3', `checksum ${page.checksum}, not ${checksum},`);
  const detail = wrongDelete(page, state) ?? wrongPut(page, state) ?? wrongPatch(page, state) ?? wrongDrop(page, state);
  return detail === null ? null : wrong('SIM-4', detail);
}

function wrongDelete(page: PageRead, { objects }: OracleState): string | null {
  const id = (page.delete ?? []).find((deleted) => objects.has(deleted));
  return id === undefined ? null : `delete of ${JSON.stringify(id)}, which exists,`;
}

function wrongPut(page: PageRead, { objects }: OracleState): string | null {
  const isWrong = ([id, given]: [string, Attributes]) =>
    objects.get(id)?.size !== Object.keys(given).length || !agrees(objects.get(id), given);
  const [id] = Object.entries(page.put ?? {}).find(isWrong) ?? [];
  if (id === undefined) return null;
  return `put ${JSON.stringify(id)} is not what md has, ${snapshotOf(objects).texts.get(id)},`;
}

function wrongPatch(page: PageRead, { objects }: OracleState): string | null {
  const [id] = Object.entries(page.patch ?? {}).find(([patched, given]) => !agrees(objects.get(patched), given)) ?? [];
  return id === undefined ? null : `patch ${JSON.stringify(id)} is not what md has`;
}

function wrongDrop(page: PageRead, { objects }: OracleState): string | null {
  const isWrong = ([id, names]: [string, readonly string[]]) =>
    names.some((name) => objects.get(id)?.has(name) ?? true);
  const [id] = Object.entries(page.drop ?? {}).find(isWrong) ?? [];
  return id === undefined ? null : `drop of ${JSON.stringify(id)}, which md has,`;
}

function agrees(attributes: ReadonlyMap<string, string> | undefined, given: Attributes): boolean {
  return Object.entries(given).every(([name, value]) => attributes?.get(name) === canonicalJson(value));
}

/** Checks that a page carries only what changed since the device's last complete catch-up. */
function checkOnlyChanges({ issue, states, floor }: ServedPage, page: PageRead): void {
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
  const whole = Object.keys(page.put ?? {}).find((id) => (state.created.get(id) ?? 0) <= base.time);
  demand(whole === undefined, 'SIM-8', () => `${JSON.stringify(whole)} was sent as a whole though the device holds it`);
}

function learnToken(run: HistoryRun, served: ServedPage, page: PageRead): void {
  const { device, asked, issue, head } = served;
  const time = served.states[0]?.time ?? 0;
  const pending = page.reset === true ? null : (issue?.base ?? null);
  run.tokens.issue(device.partition, page.token, {
    generation: run.oracle.generation(device.partition),
    written: time > 0,
    askedWith: asked,
    base: page.more ? pending : { time, head, isCertain: served.states.length === 1 },
    readAt: Math.max(...served.states.map((state) => state.time)),
    isLost: false,
    isAtRisk: served.trimmedMeanwhile,
  });
}
