import { parseJson } from '@tidemark/protocol';
import type { DevicePage } from './device.ts';
import { effectOf } from './effect-of.ts';
import { type Effect, type Facts, factKey, markText, placeOf } from './facts.ts';
import type { Line } from './line.ts';
import { clientOf, deviceRoom, KEEPER, partitionOf, WRITERS } from './names.ts';
import {
  type Answer,
  bunchesOf,
  isAboutObjects,
  type Operation,
  type PullOperation,
  type Room,
  type TrimOperation,
} from './operation.ts';
import { PartitionHistory } from './partition-history.ts';
import { type Problem, problemAbout } from './problem.ts';
import type { StoreReading } from './read-store.ts';
import { settleOperation } from './settle-operation.ts';
import { type TokenWords, tokenWords } from './token-words.ts';
import { idsOfBunch } from './unfold-bunch.ts';
import { WatchedDevice } from './watched-device.ts';

/** An operation that was begun and not acknowledged yet. */
interface Begun {
  readonly operation: Operation;
  readonly begunAt: number;
  readonly seqBefore: number;
  readonly onDone: (now: number) => void;
}

/** How the operations under way at the moment of the kill turned out. */
export interface Settlement {
  readonly applied: number;
  readonly notApplied: number;
  /** Those that would have changed nothing. */
  readonly neither: number;
}

/**
 * What must be true, worked out from nothing but the lines of the workers. One world lives as long as its folder,
 * through any number of kills.
 */
export class World {
  readonly devices: readonly WatchedDevice[];
  readonly #histories = new Map<string, PartitionHistory>();
  readonly #facts = new Map<string, string>();
  readonly #underWay = new Map<number, Begun>();
  /** Facts that were acknowledged to have changed since the last settlement. */
  readonly #touched = new Set<string>();
  #problems: Problem[] = [];
  #epoch: string | null = null;
  #now = 0;

  constructor() {
    this.devices = WRITERS.map((writer) => new WatchedDevice(this.#history(writer, deviceRoom(writer))));
  }

  get facts(): Facts {
    return this.#facts;
  }

  /** Keys of the facts a worker must know of when it starts. */
  known(): readonly string[] {
    return [...this.#facts.keys()].filter((key) => /^(?:source|user|client)\//.test(key));
  }

  tokens(): readonly (string | null)[] {
    return this.devices.map(({ device }) => device.token);
  }

  hear(line: Line): void {
    this.#now++;
    if (line.say === 'open') this.#hearEpoch(line.epoch);
    if (line.say === 'begin') this.#begin(line.writer, line.operation);
    if (line.say === 'done') this.#done(line.writer, line.answer);
    if (line.say === 'failed') throw new Error(`an operation of writer ${line.writer} failed: ${line.reason}`);
  }

  /** Compares with what was found, and takes over what became of the operations under way. */
  settle(reading: StoreReading): Settlement {
    const settlement = this.#settleAll(reading);
    this.#hearEpoch(reading.epoch);
    this.#compare(reading.facts);
    for (const place of new Set([...this.#histories.keys(), ...reading.partitions.keys()])) {
      this.#complain(this.#historyAt(place).examine(reading.partitions.get(place) ?? null));
    }
    if (reading.findings.length > 0) this.#complain([problemAbout('CRASH-4', 'verify', reading.findings)]);
    return settlement;
  }

  /** A page that came to a writer's device by a pull begun now, while nobody writes. */
  deliver(writer: number, page: DevicePage): void {
    this.#now++;
    this.#receive(writer, page, this.#now);
  }

  /** Everything wrong so far, told once. */
  takeProblems(): readonly Problem[] {
    const problems = this.#problems;
    this.#problems = [];
    return problems;
  }

  #begin(writer: number, operation: Operation): void {
    if (this.#underWay.has(writer)) throw new Error(`writer ${writer} does two things at once`);
    const history = this.#history(writer, roomOf(operation));
    // A replacement also speaks of what it takes away, so everything there may be told again.
    const others = operation.kind === 'replace' ? this.#ownIds(writer) : [];
    const ids = bunchesOf(operation).flatMap((bunch) => idsOfBunch(writer, bunch));
    const onDone = isAboutObjects(operation) ? history.stir([...ids, ...others]) : () => undefined;
    if (operation.kind === 'trim') this.#beginTrim(writer, operation);
    this.#underWay.set(writer, { operation, begunAt: this.#now, seqBefore: history.seqAcknowledged, onDone });
  }

  /** A trim spares the devices that are noted, unless it is brutal. */
  #beginTrim(writer: number, { room, isBrutal }: TrimOperation): void {
    const watcher = room === 'shared' ? KEEPER : writer;
    const isNoted = this.#facts.has(factKey.mark(partitionOf(writer, room), clientOf(watcher)));
    if (isBrutal || !isNoted) this.devices[watcher]?.expose();
  }

  #done(writer: number, answer: Answer): void {
    const begun = this.#underWay.get(writer);
    if (begun === undefined) throw new Error(`writer ${writer} was answered without having asked`);
    this.#underWay.delete(writer);
    begun.onDone(this.#now);
    const { operation } = begun;
    const effect = effectOf(this.#facts, writer, operation);
    if (answer.kind === 'written') this.#examineReport(writer, begun, answer, effect);
    if (answer.kind === 'trimmed') this.#history(writer, roomOf(operation)).acknowledgeFloor(answer.floor);
    this.#apply(writer, operation, effect);
    if (answer.kind === 'page' && operation.kind === 'pull') this.#hearPage(writer, operation, answer, begun.begunAt);
  }

  #apply(writer: number, operation: Operation, effect: Effect): void {
    for (const [key, text] of effect) this.#set(key, text);
    if (operation.kind === 'delete_user') this.#history(writer, 'own').beginLife();
  }

  #set(key: string, text: string | null): void {
    this.#touched.add(key);
    if (text === null) this.#facts.delete(key);
    else this.#facts.set(key, text);
  }

  #examineReport(
    writer: number,
    begun: Begun,
    { changed, seq }: Extract<Answer, { kind: 'written' }>,
    effect: Effect,
  ): void {
    const { operation, seqBefore } = begun;
    const differing = [...effect].filter(([key, text]) => (this.#facts.get(key) ?? null) !== text).length;
    const expected = operation.kind === 'fast_insert' ? effect.size : differing;
    if (changed !== expected) {
      const detail = `${operation.kind} of writer ${writer} changed ${changed} objects instead of ${expected}`;
      this.#complain([problemAbout('CRASH-3', detail, [])]);
    }
    if (seq < seqBefore + changed) {
      const detail = `${operation.kind} of writer ${writer} got up to seq ${seq}, after ${seqBefore}, with ${changed} changes`;
      this.#complain([problemAbout('CRASH-5', detail, [])]);
    }
    this.#history(writer, roomOf(operation)).acknowledgeSeq(seq);
  }

  #hearPage(
    writer: number,
    operation: PullOperation,
    answer: Extract<Answer, { kind: 'page' }>,
    begunAt: number,
  ): void {
    const { text, mark } = answer;
    const page = parseJson(text) as DevicePage;
    const given = tokenWords(page.token);
    this.#receive(writer, page, begunAt);
    // A partition never written to keeps no tidemarks.
    if (given.seq === 0 && !page.more) return;
    const key = factKey.mark(partitionOf(writer, operation.room), clientOf(writer));
    const restart = { epoch: given.epoch, seq: 0, base: null, start: given.base ?? given.start };
    const isRestart = operation.token === null || page.reset === true;
    const presented = isRestart ? restart : tokenWords(operation.token);
    if (mark === null || !isOnTheWay(mark, presented)) {
      const detail = `${key} reads ${JSON.stringify(mark)} after a pull that presented ${JSON.stringify(presented)}`;
      this.#complain([problemAbout('CRASH-6', detail, [])]);
    }
    // What could be read once must be there after every crash.
    if (mark !== null) this.#set(key, markText(mark));
  }

  #receive(writer: number, page: DevicePage, begunAt: number): void {
    const watched = this.devices[writer];
    if (watched === undefined) throw new Error(`writer ${writer} has no device`);
    this.#complain(watched.receive(page, begunAt));
  }

  #hearEpoch(epoch: string): void {
    this.#epoch ??= epoch;
    if (epoch === this.#epoch) return;
    this.#complain([problemAbout('CRASH-5', `the store's epoch was ${this.#epoch} and is ${epoch}`, [])]);
  }

  #settleAll({ facts }: StoreReading): Settlement {
    const counts = { applied: 0, notApplied: 0, neither: 0 };
    for (const [writer, { operation, onDone }] of this.#underWay) {
      const { outcome, effect, problems } = settleOperation(this.#facts, facts, writer, operation);
      this.#complain(problems);
      counts[outcome]++;
      onDone(this.#now);
      if (outcome === 'applied') this.#apply(writer, operation, effect);
    }
    this.#underWay.clear();
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
    if (lost.length > 0) this.#complain([problemAbout('CRASH-1', 'acknowledged and lost', lost)]);
    if (foreign.length > 0) this.#complain([problemAbout('CRASH-3', 'changed by nobody', foreign)]);
    this.#touched.clear();
  }

  #ownIds(writer: number): string[] {
    const prefix = factKey.object(partitionOf(writer, 'own'), '');
    return [...this.#facts.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
  }

  #history(writer: number, room: Room): PartitionHistory {
    return this.#historyAt(placeOf(partitionOf(writer, room)));
  }

  #historyAt(place: string): PartitionHistory {
    const known = this.#histories.get(place);
    if (known !== undefined) return known;
    const history = new PartitionHistory(place);
    this.#histories.set(place, history);
    return history;
  }

  #complain(problems: Iterable<Problem>): void {
    this.#problems.push(...problems);
  }
}

function roomOf(operation: Operation): Room {
  return 'room' in operation ? operation.room : 'own';
}

/** How far a device has come since its last complete catch-up is noted now and then; that it has begun, at once. */
function isOnTheWay(mark: TokenWords, presented: TokenWords): boolean {
  const isSameWay = mark.epoch === presented.epoch && mark.base === presented.base && mark.start === presented.start;
  return isSameWay && mark.seq <= presented.seq;
}
