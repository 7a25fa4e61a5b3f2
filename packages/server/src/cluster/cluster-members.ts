import type { Bus, BusListener, Clock } from '@tidemark/core';
import type { Timers } from '../jobs/timers.ts';
import { type ClusterAnswer, type ClusterQuery, type Hint, readHint, writeHint } from './hint.ts';

export interface ClusterMembersParts {
  /** Identifies this server among all servers of the installation. */
  readonly id: string;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Connects to the other servers. Null means that there is no connection. */
  readonly openBus: (listener: BusListener) => Promise<Bus | null>;
}

/** Reacts to what other servers send. */
export interface ClusterListener {
  onHint(hint: Hint): void;
  /** Answers a query of another server. */
  answer(query: ClusterQuery): ClusterAnswer;
  /** Called when hints may have been lost. */
  onGap(): void;
}

/** How often a server sends a heartbeat with the number of its hints; a receiver that counts fewer has missed some. */
export const HEARTBEAT_EVERY_MS = 1_000;
/** A server that was silent for so long is gone, and its last hints may be lost. */
const GONE_AFTER_MS = 5_000;
/** How long other servers may take to answer a query. */
const ANSWER_MS_MAX = 1_000;
/** Without a bus no hint arrives, so a gap is assumed after so many heartbeats. */
const HEARTBEATS_PER_ASSUMED_GAP = 30;
const QUERIES_MAX = 10_000;
const MEMBERS_MAX = 1_024;

interface Member {
  seenAtMs: number;
  /** How many hints it had sent at its last heartbeat. Null: a gap was reported, so counting starts anew. */
  sent: number | null;
  /** How many hints were received from it since its last heartbeat. */
  received: number;
}

interface OpenQuery {
  readonly unanswered: Set<string>;
  readonly settle: () => void;
  readonly answers: ClusterAnswer[];
}

/**
 * Sends hints and queries to the other servers of the installation and receives theirs. Hints may get lost: lost hints
 * are detected by counting, dead servers by their silence, both within seconds.
 */
export class ClusterMembers {
  readonly #parts: ClusterMembersParts;
  readonly #members = new Map<string, Member>();
  readonly #queries = new Map<string, OpenQuery>();
  #listener: ClusterListener | null = null;
  #bus: Bus | null = null;
  #sent = 0;
  #lastQueryId = 0;
  #heartbeats = 0;
  #openedAtMs = Number.POSITIVE_INFINITY;
  #cancelHeartbeat: () => void = () => undefined;
  #isOpen = true;

  constructor(parts: ClusterMembersParts) {
    this.#parts = parts;
  }

  get id(): string {
    return this.#parts.id;
  }

  /** Sets who reacts to hints and queries. To be called before `open`. */
  listen(listener: ClusterListener): void {
    this.#listener = listener;
  }

  async open(): Promise<void> {
    const { openBus, clock } = this.#parts;
    this.#bus = await openBus({ onText: (text) => this.#receive(text), onGap: () => this.#onBusGap() });
    this.#openedAtMs = clock.nowMs();
    this.#sendHeartbeat(true);
    this.#scheduleHeartbeat();
  }

  /** Counts the other servers that are alive. */
  get count(): number {
    return this.#members.size;
  }

  /** True if the server is certainly dead: a living one would have sent a heartbeat since this server listens. */
  isGone(id: string): boolean {
    const hasListenedLongEnough = this.#parts.clock.nowMs() - this.#openedAtMs > GONE_AFTER_MS;
    return this.#bus !== null && hasListenedLongEnough && id !== this.id && !this.#members.has(id);
  }

  tell(hint: Hint): void {
    if (!this.#isOpen || this.#bus === null) return;
    this.#sent++;
    this.#bus.publish(writeHint({ from: this.id, hint }));
  }

  /** Returns the sum of the answers; a server that does not answer in time counts as 0. */
  async ask(question: ClusterQuery): Promise<number> {
    const answers = await this.collect(question);
    return answers.reduce<number>((sum, answer) => sum + (typeof answer === 'number' ? answer : 0), 0);
  }

  /** Returns the answers of the servers that answer in time. */
  collect(question: ClusterQuery): Promise<readonly ClusterAnswer[]> {
    const unanswered = new Set(this.#members.keys());
    if (unanswered.size === 0 || this.#queries.size >= QUERIES_MAX) return Promise.resolve([]);
    const id = String(++this.#lastQueryId);
    return new Promise((resolve) => {
      const settle = () => {
        cancelTimeout();
        this.#queries.delete(id);
        resolve(query.answers);
      };
      const cancelTimeout = this.#parts.timers.after(ANSWER_MS_MAX, settle);
      const query: OpenQuery = { unanswered, settle, answers: [] };
      this.#queries.set(id, query);
      this.tell({ kind: 'ask', id, question });
    });
  }

  async close(): Promise<void> {
    this.tell({ kind: 'gone' });
    this.#isOpen = false;
    this.#cancelHeartbeat();
    for (const { settle } of [...this.#queries.values()]) settle();
    await this.#bus?.close();
  }

  #scheduleHeartbeat(): void {
    this.#cancelHeartbeat = this.#parts.timers.after(HEARTBEAT_EVERY_MS, () => {
      this.#sendHeartbeat(false);
      this.#removeSilent();
      this.#heartbeats++;
      if (this.#bus === null && this.#heartbeats % HEARTBEATS_PER_ASSUMED_GAP === 0) this.#listener?.onGap();
      this.#scheduleHeartbeat();
    });
  }

  /** A heartbeat is not counted as a hint itself. `isNew` makes the receivers send their heartbeat at once. */
  #sendHeartbeat(isNew: boolean): void {
    const hint: Hint = { kind: 'here', sent: this.#sent, isNew };
    if (this.#isOpen) this.#bus?.publish(writeHint({ from: this.id, hint }));
  }

  #removeSilent(): void {
    const nowMs = this.#parts.clock.nowMs();
    const silent = [...this.#members].filter(([, { seenAtMs }]) => nowMs - seenAtMs > GONE_AFTER_MS);
    for (const [id] of silent) this.#remove(id);
    if (silent.length > 0) this.#listener?.onGap();
  }

  #remove(id: string): void {
    this.#members.delete(id);
    for (const query of [...this.#queries.values()]) addAnswer(query, id, 0);
  }

  #onBusGap(): void {
    if (!this.#isOpen) return;
    // One gap is reported for all members, so that their next heartbeats must not report it again.
    for (const member of this.#members.values()) member.sent = null;
    this.#sendHeartbeat(true);
    this.#listener?.onGap();
  }

  #receive(text: string): void {
    const received = readHint(text);
    if (received === null || received.from === this.id || !this.#isOpen) return;
    const { from, hint } = received;
    if (hint.kind === 'gone') this.#remove(from);
    else this.#receiveHint(from, hint);
  }

  #receiveHint(from: string, hint: Hint): void {
    const member = this.#memberOf(from);
    if (member === null) return;
    member.seenAtMs = this.#parts.clock.nowMs();
    if (hint.kind !== 'here') member.received++;
    if (hint.kind === 'here') this.#receiveHeartbeat(member, hint);
    else if (hint.kind === 'ask') this.#answer(from, hint);
    else if (hint.kind === 'answer') this.#receiveAnswer(from, hint);
    else this.#listener?.onHint(hint);
  }

  #memberOf(id: string): Member | null {
    const known = this.#members.get(id);
    if (known !== undefined || this.#members.size >= MEMBERS_MAX) return known ?? null;
    const member: Member = { seenAtMs: 0, sent: 0, received: 0 };
    this.#members.set(id, member);
    return member;
  }

  #receiveHeartbeat(member: Member, { sent, isNew }: Extract<Hint, { kind: 'here' }>): void {
    // Hints sent before the member was known count as missed: they may concern devices that listen here already.
    const hasMissed = member.sent !== null && sent > member.sent + member.received;
    member.sent = sent;
    member.received = 0;
    if (hasMissed) this.#listener?.onGap();
    if (isNew) this.#sendHeartbeat(false);
  }

  #answer(to: string, { id, question }: Extract<Hint, { kind: 'ask' }>): void {
    this.tell({ kind: 'answer', id, to, value: this.#listener?.answer(question) ?? 0 });
  }

  #receiveAnswer(from: string, { id, to, value }: Extract<Hint, { kind: 'answer' }>): void {
    const query = to === this.id ? this.#queries.get(id) : undefined;
    if (query !== undefined) addAnswer(query, from, value);
  }
}

function addAnswer(query: OpenQuery, from: string, value: ClusterAnswer): void {
  if (!query.unanswered.delete(from)) return;
  query.answers.push(value);
  if (query.unanswered.size === 0) query.settle();
}
