import { parseJson } from '@tidemark/protocol';
import type { PageRead } from '../../model/page.ts';
import { DeviceChecker } from './device-checker.ts';
import { effectOf } from './effect-of.ts';
import { type Effect, type Facts, factKey, markText, partitionPath, type TokenFields, tokenFields } from './facts.ts';
import type { Line } from './line.ts';
import { clientOf, deviceTarget, partitionOf, SETUP_WRITER, WRITERS } from './names.ts';
import { idsInRange } from './object-range.ts';
import {
  type Answer,
  isAboutObjects,
  type Operation,
  type PullOperation,
  rangesOf,
  type Target,
  type TrimOperation,
} from './operation.ts';
import { PartitionHistory } from './partition-history.ts';
import { type Problem, problemAbout } from './problem.ts';
import type { StoreReading } from './read-store.ts';
import { settleOperation } from './settle-operation.ts';

/** An operation that has begun and is not acknowledged yet. */
interface RunningOperation {
  readonly operation: Operation;
  readonly begunAt: number;
  readonly seqBefore: number;
  readonly onAcknowledged: (now: number) => void;
}

/** What became of the operations that were running at the moment of the kill. */
export interface Settlement {
  readonly applied: number;
  readonly notApplied: number;
  /** Operations that would have changed nothing. */
  readonly neither: number;
}

/** The model of a store, computed from the lines of its workers alone. It lasts as long as the folder, through all kills. */
export class StoreModel {
  readonly devices: readonly DeviceChecker[];
  readonly #histories = new Map<string, PartitionHistory>();
  readonly #facts = new Map<string, string>();
  readonly #running = new Map<number, RunningOperation>();
  /** Keys of facts with an acknowledged change since the last settlement. */
  readonly #touched = new Set<string>();
  #problems: Problem[] = [];
  #epoch: string | null = null;
  #now = 0;

  constructor() {
    this.devices = WRITERS.map((writer) => new DeviceChecker(this.#history(writer, deviceTarget(writer))));
  }

  get facts(): Facts {
    return this.#facts;
  }

  /** Returns the keys of the facts that a worker must know when it starts. */
  knownKeys(): readonly string[] {
    return [...this.#facts.keys()].filter((key) => /^(?:source|user|client)\//.test(key));
  }

  tokens(): readonly (string | null)[] {
    return this.devices.map(({ device }) => device.token);
  }

  add(line: Line): void {
    this.#now++;
    if (line.say === 'open') this.#addEpoch(line.epoch);
    if (line.say === 'begin') this.#begin(line.writer, line.operation);
    if (line.say === 'done') this.#done(line.writer, line.answer);
    if (line.say === 'failed') throw new Error(`the worker failed: ${line.reason}`);
  }

  /** Compares the model with a store, and takes over what became of the running operations. */
  settle(reading: StoreReading): Settlement {
    const settlement = this.#settleAll(reading);
    this.#addEpoch(reading.epoch);
    this.#compare(reading.facts);
    for (const path of new Set([...this.#histories.keys(), ...reading.partitions.keys()])) {
      this.#addProblems(this.#historyAt(path).examine(reading.partitions.get(path) ?? null));
    }
    if (reading.findings.length > 0) this.#addProblems([problemAbout('CRASH-4', 'verify', reading.findings)]);
    return settlement;
  }

  /** Returns all problems since the last call. */
  takeProblems(): readonly Problem[] {
    const problems = this.#problems;
    this.#problems = [];
    return problems;
  }

  #begin(writer: number, operation: Operation): void {
    if (this.#running.has(writer)) throw new Error(`writer ${writer} runs two operations at once`);
    const history = this.#history(writer, targetOf(operation));
    // A replacement also deletes objects, so pages may name every object of the partition.
    const others = operation.kind === 'replace' ? this.#ownIds(writer) : [];
    const ids = rangesOf(operation).flatMap((range) => idsInRange(writer, range));
    const onAcknowledged = isAboutObjects(operation) ? history.beginWrite([...ids, ...others]) : () => undefined;
    if (operation.kind === 'trim') this.#beginTrim(writer, operation);
    this.#running.set(writer, { operation, begunAt: this.#now, seqBefore: history.seqAcknowledged, onAcknowledged });
  }

  /** A trim spares devices with a tidemark, unless it is forced. */
  #beginTrim(writer: number, { target, isForced }: TrimOperation): void {
    const watcher = target === 'shared' ? SETUP_WRITER : writer;
    const hasTidemark = this.#facts.has(factKey.mark(partitionOf(writer, target), clientOf(watcher)));
    if (isForced || !hasTidemark) this.devices[watcher]?.putAtRisk();
  }

  #done(writer: number, answer: Answer): void {
    const running = this.#running.get(writer);
    if (running === undefined) throw new Error(`writer ${writer} got an answer without an operation`);
    this.#running.delete(writer);
    running.onAcknowledged(this.#now);
    const { operation } = running;
    const effect = effectOf(this.#facts, writer, operation);
    if (answer.kind === 'written') this.#examineReport(writer, running, answer, effect);
    if (answer.kind === 'trimmed') this.#history(writer, targetOf(operation)).acknowledgeFloor(answer.floor);
    this.#apply(writer, operation, effect);
    if (answer.kind === 'page' && operation.kind === 'pull') this.#addPage(writer, operation, answer, running.begunAt);
  }

  #apply(writer: number, operation: Operation, effect: Effect): void {
    for (const [key, text] of effect) this.#set(key, text);
    if (operation.kind === 'delete_user') this.#history(writer, 'own').beginGeneration();
  }

  #set(key: string, text: string | null): void {
    this.#touched.add(key);
    if (text === null) this.#facts.delete(key);
    else this.#facts.set(key, text);
  }

  #examineReport(
    writer: number,
    running: RunningOperation,
    { changed, seq }: Extract<Answer, { kind: 'written' }>,
    effect: Effect,
  ): void {
    const { operation, seqBefore } = running;
    const differing = [...effect].filter(([key, text]) => (this.#facts.get(key) ?? null) !== text).length;
    const expected = operation.kind === 'fast_insert' ? effect.size : differing;
    if (changed !== expected) {
      const detail = `${operation.kind} of writer ${writer} changed ${changed} objects instead of ${expected}`;
      this.#addProblems([problemAbout('CRASH-3', detail, [])]);
    }
    if (seq < seqBefore + changed) {
      const detail = `${operation.kind} of writer ${writer} got up to seq ${seq}, after ${seqBefore}, with ${changed} changes`;
      this.#addProblems([problemAbout('CRASH-5', detail, [])]);
    }
    this.#history(writer, targetOf(operation)).acknowledgeSeq(seq);
  }

  #addPage(writer: number, operation: PullOperation, answer: Extract<Answer, { kind: 'page' }>, begunAt: number): void {
    const { text, mark } = answer;
    const page = parseJson(text) as PageRead;
    const given = tokenFields(page.token);
    this.#receive(writer, page, begunAt);
    // A partition without any write keeps no tidemarks.
    if (given.seq === 0 && !page.more) return;
    const key = factKey.mark(partitionOf(writer, operation.target), clientOf(writer));
    const restart = { epoch: given.epoch, seq: 0, base: null, start: given.base ?? given.start };
    const isRestart = operation.token === null || page.reset === true;
    const presented = isRestart ? restart : tokenFields(operation.token);
    if (mark === null || !isReachable(mark, presented)) {
      const detail = `${key} is ${JSON.stringify(mark)} after a pull with ${JSON.stringify(presented)}`;
      this.#addProblems([problemAbout('CRASH-6', detail, [])]);
    }
    // A tidemark that was read once must survive every crash.
    if (mark !== null) this.#set(key, markText(mark));
  }

  #receive(writer: number, page: PageRead, begunAt: number): void {
    const watched = this.devices[writer];
    if (watched === undefined) throw new Error(`writer ${writer} has no device`);
    this.#addProblems(watched.receive(page, begunAt));
  }

  #addEpoch(epoch: string): void {
    this.#epoch ??= epoch;
    if (epoch === this.#epoch) return;
    this.#addProblems([problemAbout('CRASH-5', `the store's epoch was ${this.#epoch} and is ${epoch}`, [])]);
  }

  #settleAll({ facts }: StoreReading): Settlement {
    const counts = { applied: 0, notApplied: 0, neither: 0 };
    for (const [writer, { operation, onAcknowledged }] of this.#running) {
      const { outcome, effect, problems } = settleOperation(this.#facts, facts, writer, operation);
      this.#addProblems(problems);
      counts[outcome]++;
      onAcknowledged(this.#now);
      if (outcome === 'applied') this.#apply(writer, operation, effect);
    }
    this.#running.clear();
    return counts;
  }

  #compare(found: Facts): void {
    const wrong = new Map<string, string>();
    for (const key of new Set([...this.#facts.keys(), ...found.keys()])) {
      const [expected, actual] = [this.#facts.get(key), found.get(key)];
      if (expected !== actual) wrong.set(key, `${key} should be ${expected ?? 'absent'} and is ${actual ?? 'absent'}`);
    }
    const lost = [...wrong].filter(([key]) => this.#touched.has(key)).map(([, text]) => text);
    const foreign = [...wrong].filter(([key]) => !this.#touched.has(key)).map(([, text]) => text);
    if (lost.length > 0) this.#addProblems([problemAbout('CRASH-1', 'acknowledged and lost', lost)]);
    if (foreign.length > 0) this.#addProblems([problemAbout('CRASH-3', 'changed without a write', foreign)]);
    this.#touched.clear();
  }

  #ownIds(writer: number): string[] {
    const prefix = factKey.object(partitionOf(writer, 'own'), '');
    return [...this.#facts.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
  }

  #history(writer: number, target: Target): PartitionHistory {
    return this.#historyAt(partitionPath(partitionOf(writer, target)));
  }

  #historyAt(path: string): PartitionHistory {
    const knownKeys = this.#histories.get(path);
    if (knownKeys !== undefined) return knownKeys;
    const history = new PartitionHistory(path);
    this.#histories.set(path, history);
    return history;
  }

  #addProblems(problems: Iterable<Problem>): void {
    this.#problems.push(...problems);
  }
}

function targetOf(operation: Operation): Target {
  return 'target' in operation ? operation.target : 'own';
}

/**
 * The store records the position of a device within a catch-up now and then, and the begin of one at once. So a tidemark
 * may be behind the token that was sent, but belongs to the same catch-up.
 */
function isReachable(mark: TokenFields, presented: TokenFields): boolean {
  const isSameCatchUp =
    mark.epoch === presented.epoch && mark.base === presented.base && mark.start === presented.start;
  return isSameCatchUp && mark.seq <= presented.seq;
}
