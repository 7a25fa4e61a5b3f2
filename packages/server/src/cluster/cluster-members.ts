import type { Bus, BusListener, Clock } from '@tidemark/core';
import type { Timers } from '../jobs/timers.ts';
import { type ClusterQuery, type Hint, readHint, writeHint } from './hint.ts';

export interface ClusterMembersParts {
  /** A word that no other server has. */
  readonly word: string;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Opens the way to the others. Null: there is none. */
  readonly openBus: (listener: BusListener) => Promise<Bus | null>;
  readonly onHint: (hint: Hint) => void;
  /** What others ask of this server. */
  readonly answer: (question: ClusterQuery) => number;
  /** Hints may have been lost. */
  readonly onGap: () => void;
}

/** How often a server says that it is there, and how much it has told: whoever has heard less has missed something. */
export const HERE_EVERY_MS = 1_000;
/** A server that was not heard of for so long is gone, and may have left untold what it did last. */
const GONE_AFTER_MS = 5_000;
/** How long others may take to answer. */
const ANSWER_MS_MAX = 1_000;
/** Where no hint can come from anybody, how many signs of life pass between two times at which one is assumed lost. */
const TICKS_PER_GUESS = 30;
const QUESTIONS_MAX = 10_000;
const NEIGHBOURS_MAX = 1_024;

interface Neighbour {
  seenAtMs: number;
  /** What it had told at its last sign of life; null: whatever it was, it is made good already. */
  told: number | null;
  /** Hints heard since. */
  heard: number;
}

interface Asked {
  readonly waitFor: Set<string>;
  readonly settle: () => void;
  sum: number;
}

/**
 * The other servers of the installation: who there is, what they tell, and what they answer. Hints may be lost; that one
 * was is noticed by counting, and that a server has died by its silence, both within seconds.
 */
export class ClusterMembers {
  readonly #parts: ClusterMembersParts;
  readonly #known = new Map<string, Neighbour>();
  readonly #asked = new Map<string, Asked>();
  #bus: Bus | null = null;
  #told = 0;
  #lastId = 0;
  #ticks = 0;
  #openedAtMs = Number.POSITIVE_INFINITY;
  #cancel: () => void = () => undefined;
  #isOpen = true;

  constructor(parts: ClusterMembersParts) {
    this.#parts = parts;
  }

  async open(): Promise<void> {
    const { openBus } = this.#parts;
    this.#bus = await openBus({ onText: (text) => this.#hear(text), onGap: () => this.#onGap() });
    this.#openedAtMs = this.#parts.clock.nowMs();
    this.#sayHere(true);
    this.#rest();
  }

  /** Servers heard of lately. */
  get count(): number {
    return this.#known.size;
  }

  /** A server that lives has been heard of by everybody who has listened for long enough. */
  isGone(word: string): boolean {
    const hasListened = this.#parts.clock.nowMs() - this.#openedAtMs > GONE_AFTER_MS;
    return this.#bus !== null && hasListened && word !== this.#parts.word && !this.#known.has(word);
  }

  tell(hint: Hint): void {
    if (!this.#isOpen || this.#bus === null) return;
    this.#told++;
    this.#bus.publish(writeHint({ from: this.#parts.word, hint }));
  }

  /** The sum of what the others answer; who does not answer in time counts as nothing. */
  ask(question: ClusterQuery): Promise<number> {
    const waitFor = new Set(this.#known.keys());
    if (waitFor.size === 0 || this.#asked.size >= QUESTIONS_MAX) return Promise.resolve(0);
    const id = String(++this.#lastId);
    return new Promise((resolve) => {
      const settle = () => {
        cancel();
        this.#asked.delete(id);
        resolve(asked.sum);
      };
      const cancel = this.#parts.timers.after(ANSWER_MS_MAX, settle);
      const asked: Asked = { waitFor, settle, sum: 0 };
      this.#asked.set(id, asked);
      this.tell({ kind: 'ask', id, question });
    });
  }

  async close(): Promise<void> {
    this.tell({ kind: 'gone' });
    this.#isOpen = false;
    this.#cancel();
    for (const { settle } of [...this.#asked.values()]) settle();
    await this.#bus?.close();
  }

  #rest(): void {
    this.#cancel = this.#parts.timers.after(HERE_EVERY_MS, () => {
      this.#sayHere(false);
      this.#missSilent();
      // Without a way to the others, whatever they may have done has not been told.
      if (this.#bus === null && ++this.#ticks % TICKS_PER_GUESS === 0) this.#parts.onGap();
      this.#rest();
    });
  }

  /** Not counted itself, so that the number says the same before and after it. */
  #sayHere(isNew: boolean): void {
    const hint: Hint = { kind: 'here', told: this.#told, isNew };
    if (this.#isOpen) this.#bus?.publish(writeHint({ from: this.#parts.word, hint }));
  }

  #missSilent(): void {
    const nowMs = this.#parts.clock.nowMs();
    const silent = [...this.#known].filter(([, { seenAtMs }]) => nowMs - seenAtMs > GONE_AFTER_MS);
    for (const [word] of silent) this.#forget(word);
    if (silent.length > 0) this.#parts.onGap();
  }

  /** Whoever is gone is not waited for. */
  #forget(word: string): void {
    this.#known.delete(word);
    for (const asked of [...this.#asked.values()]) checkOff(asked, word, 0);
  }

  #onGap(): void {
    if (!this.#isOpen) return;
    // Counting begins anew: what is missing is made good by this once.
    for (const neighbour of this.#known.values()) neighbour.told = null;
    this.#sayHere(true);
    this.#parts.onGap();
  }

  #hear(text: string): void {
    const signed = readHint(text);
    if (signed === null || signed.from === this.#parts.word || !this.#isOpen) return;
    const { from, hint } = signed;
    if (hint.kind === 'gone') this.#forget(from);
    else this.#hearOf(from, hint);
  }

  #hearOf(from: string, hint: Hint): void {
    const neighbour = this.#neighbourOf(from);
    if (neighbour === null) return;
    neighbour.seenAtMs = this.#parts.clock.nowMs();
    if (hint.kind !== 'here') neighbour.heard++;
    if (hint.kind === 'here') this.#count(neighbour, hint);
    else if (hint.kind === 'ask') this.#answer(from, hint);
    else if (hint.kind === 'answer') this.#take(from, hint);
    else this.#parts.onHint(hint);
  }

  #neighbourOf(word: string): Neighbour | null {
    const known = this.#known.get(word);
    if (known !== undefined || this.#known.size >= NEIGHBOURS_MAX) return known ?? null;
    const neighbour: Neighbour = { seenAtMs: 0, told: 0, heard: 0 };
    this.#known.set(word, neighbour);
    return neighbour;
  }

  #count(neighbour: Neighbour, { told, isNew }: Extract<Hint, { kind: 'here' }>): void {
    // What it told before it was heard of counts, too: it may concern those who listen here already.
    const hasMissed = neighbour.told !== null && told > neighbour.told + neighbour.heard;
    neighbour.told = told;
    neighbour.heard = 0;
    if (hasMissed) this.#parts.onGap();
    if (isNew) this.#sayHere(false);
  }

  #answer(to: string, { id, question }: Extract<Hint, { kind: 'ask' }>): void {
    this.tell({ kind: 'answer', id, to, value: this.#parts.answer(question) });
  }

  #take(from: string, { id, to, value }: Extract<Hint, { kind: 'answer' }>): void {
    const asked = to === this.#parts.word ? this.#asked.get(id) : undefined;
    if (asked !== undefined) checkOff(asked, from, value);
  }
}

function checkOff(asked: Asked, word: string, value: number): void {
  if (!asked.waitFor.delete(word)) return;
  asked.sum += value;
  if (asked.waitFor.size === 0) asked.settle();
}
