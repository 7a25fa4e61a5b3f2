import type { Bus, BusListener, Clock, PartitionKey, Tidemark } from '@tidemark/core';
import type { SyncEvents } from '@tidemark/protocol';
import type { LoginLimiter } from '../auth/login-limiter.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { LiveDevices } from '../events/live-devices.ts';
import type { Timers } from '../jobs/timers.ts';
import { ClusterMembers } from './cluster-members.ts';
import { GatheredChanges } from './gathered-changes.ts';
import type { ClusterQuery, Hint } from './hint.ts';

/** What a route may have done that other servers do not see by themselves, or only later. */
export type ClusterNotice = 'sessions' | 'sources' | 'reset';

export interface ClusterParts {
  /** A word that no other server has. */
  readonly word: string;
  readonly tidemark: Pick<Tidemark, 'onCommitted' | 'onOutcome' | 'stats'>;
  readonly hub: EventHub;
  readonly limiter: LoginLimiter;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Null: there is no way to other servers. */
  readonly openBus: (listener: BusListener) => Promise<Bus | null>;
}

/** Changes that follow each other within this time are told to other servers together. */
const GATHER_MS = 10;

/**
 * Makes one installation of many servers, as far as the store does not do that by itself: what happens at one is told
 * to the devices that listen at any.
 */
export class Cluster implements LiveDevices {
  readonly #parts: ClusterParts;
  readonly #neighbours: ClusterMembers;
  readonly #changes = new GatheredChanges();
  #onSources: () => void = () => undefined;
  #onPinged: (caller: string) => void = () => undefined;

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    this.#neighbours = new ClusterMembers({
      ...parts,
      onHint: (hint) => this.#take(hint),
      answer: (question) => this.#answer(question),
      onGap: () => this.#lookAtEverything(),
    });
    this.#listenHere();
  }

  /**
   * From here on this server hears of the others. What they told before, to devices that listen here already, is
   * noticed to be missing when they are first heard of.
   */
  open(): Promise<void> {
    return this.#neighbours.open();
  }

  /** What happens here is told here, and to the others. */
  #listenHere(): void {
    const { tidemark, hub } = this.#parts;
    tidemark.onCommitted((committed) => {
      hub.committed(committed);
      this.#note(committed.partition);
    });
    tidemark.onOutcome(({ client }) => {
      hub.outcomes(client);
      // Also when it listens here: it may have moved on to another server a moment ago.
      this.tell({ kind: 'outcomes', client });
    });
  }

  /** Called when sources may have changed anywhere. */
  set onSources(look: () => void) {
    this.#onSources = look;
  }

  /** Called when a ping was let through elsewhere. */
  set onPinged(count: (caller: string) => void) {
    this.#onPinged = count;
  }

  /** Servers beside this one. */
  get neighbours(): number {
    return this.#neighbours.count;
  }

  isGone(word: string): boolean {
    return this.#neighbours.isGone(word);
  }

  tell(hint: Hint): void {
    this.#neighbours.tell(hint);
  }

  /** A route of this server has done something of the kind, which concerns a user, or, if null, perhaps everybody. */
  told(what: ClusterNotice, user: string | null): void {
    this.tell(what === 'sessions' ? { kind: what, user } : { kind: what });
    this.#look(what, user);
  }

  /** Wherever the device listens. */
  ping(client: string, ping: SyncEvents['ping']): boolean | Promise<boolean> {
    if (this.#parts.hub.ping(client, ping)) return true;
    return this.#neighbours.count > 0 && this.#pingElsewhere(client, ping);
  }

  async #pingElsewhere(client: string, ping: SyncEvents['ping']): Promise<boolean> {
    return (await this.#neighbours.ask({ kind: 'ping', client, ping })) > 0;
  }

  /** Devices that listen, at all servers together. */
  async listeners(): Promise<number> {
    return this.#parts.hub.size + (await this.#neighbours.ask({ kind: 'listeners' }));
  }

  close(): Promise<void> {
    this.#tellChanges();
    return this.#neighbours.close();
  }

  #note(partition: PartitionKey): void {
    if (this.#changes.isEmpty) this.#parts.timers.after(GATHER_MS, () => this.#tellChanges());
    this.#changes.note(partition);
  }

  #tellChanges(): void {
    if (!this.#changes.isEmpty) this.tell({ kind: 'changed', partitions: this.#changes.take() });
  }

  #take(hint: Hint): void {
    const { hub, limiter, tidemark } = this.#parts;
    if (hint.kind === 'changed') this.#takeChanges(hint.partitions);
    else if (hint.kind === 'outcomes') hub.outcomes(hint.client);
    else if (hint.kind === 'listens') hub.replaced(hint.client, hint.atMs);
    else if (hint.kind === 'login_failed') limiter.noteFailed(hint.keys);
    else if (hint.kind === 'pinged') this.#onPinged(hint.caller);
    else if (hint.kind === 'sessions') this.#look(hint.kind, hint.user);
    else if (hint.kind === 'sources') this.#look(hint.kind);
    else if (hint.kind === 'reset') {
      // What was measured before belongs to the life before.
      tidemark.stats.clear();
      this.#look('reset');
    }
  }

  #takeChanges(partitions: readonly PartitionKey[] | null): void {
    const { hub } = this.#parts;
    if (partitions === null) void hub.pullAll();
    else for (const partition of partitions) hub.committed({ partition, cause: 'push' });
  }

  #look(what: ClusterNotice, user: string | null = null): void {
    if (what !== 'sources') void this.#parts.hub.recheck(what === 'sessions' ? user : null);
    if (what !== 'sessions') this.#onSources();
  }

  #answer(question: ClusterQuery): number {
    const { hub } = this.#parts;
    if (question.kind === 'listeners') return hub.size;
    return hub.ping(question.client, question.ping) ? 1 : 0;
  }

  /** Whatever may have been missed is found by looking. */
  #lookAtEverything(): void {
    void this.#parts.hub.pullAll();
    this.#look('reset');
  }
}
