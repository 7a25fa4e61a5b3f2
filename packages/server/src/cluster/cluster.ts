import {
  type Acknowledgement,
  type Committed,
  joinRanges,
  type Pings,
  partitionName,
  type Tidemark,
} from '@tidemark/core';
import type { ActivityHub } from '../activity/activity-hub.ts';
import type { LoginLimiter } from '../auth/login-limiter.ts';
import type { RateLimiter } from '../auth/rate-limiter.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Timers } from '../jobs/timers.ts';
import type { ClusterMembers } from './cluster-members.ts';
import {
  type AcknowledgedState,
  type ChangedPartition,
  type ClusterAnswer,
  type ClusterQuery,
  type Hint,
  hinted,
  partitionIn,
} from './hint.ts';

/** What a route has changed that other servers would not notice by themselves, or only later. */
export type ClusterNotice = 'sessions' | 'sources' | 'reset';

interface ClusterParts {
  readonly members: ClusterMembers;
  readonly tidemark: Pick<Tidemark, 'events' | 'freshness' | 'stats'>;
  readonly hub: EventHub;
  readonly activity: Pick<ActivityHub, 'receive' | 'recheck'>;
  readonly limiter: LoginLimiter;
  readonly rates: Pick<RateLimiter, 'noteSpent'>;
  readonly pings: Pick<Pings, 'countElsewhere'>;
  readonly queues: { discover(): void };
  readonly timers: Timers;
}

/** Changes within this time are announced to the other servers in one hint. */
const BATCH_MS = 10;
/** Partitions named in one hint. With more changes the hint names none, and devices pull everything. */
const PARTITIONS_PER_HINT_MAX = 200;

/** Acknowledgements within this time are announced in one hint. */
const ACKNOWLEDGED_BATCH_MS = 1_000;
/** Devices named in one hint of acknowledgements. More are not announced. */
const ACKNOWLEDGED_PER_HINT_MAX = 500;

/**
 * Makes many servers on one store behave as one installation: it announces what happens at this server to the others, and
 * applies what they announce to the devices, limits and queues of this server.
 */
export class Cluster {
  readonly #parts: ClusterParts;
  readonly #changed = new Map<string, ChangedPartition>();
  readonly #acknowledged = new Map<string, AcknowledgedState>();

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    parts.members.listen({
      onHint: (hint) => this.#apply(hint),
      answer: (query) => this.#answer(query),
      onGap: () => this.#recoverFromGap(),
    });
    this.#announceCommits();
  }

  /**
   * Connects to the other servers. Hints they sent before, to devices that listen here already, are detected as missing
   * by their first heartbeat.
   */
  open(): Promise<void> {
    return this.#parts.members.open();
  }

  /** Applies a notice of a route here and announces it. It concerns one user, or, if null, everybody. */
  announce(notice: ClusterNotice, user: string | null): void {
    this.#parts.members.tell(notice === 'sessions' ? { kind: notice, user } : { kind: notice });
    this.#applyNotice(notice, user);
  }

  close(): Promise<void> {
    this.#sendChanges();
    return this.#parts.members.close();
  }

  #announceCommits(): void {
    const { tidemark, hub, members } = this.#parts;
    tidemark.events.on('committed', (committed) => {
      hub.committed(committed);
      this.#addChange(committed);
    });
    tidemark.events.on('outcome', ({ client }) => {
      hub.outcomes(client);
      // Announced also if the device listens here: it may have moved to another server a moment ago.
      members.tell({ kind: 'outcomes', client });
    });
    tidemark.events.on('acknowledged', (acknowledgement) => this.#addAcknowledged(acknowledgement));
  }

  /** Other servers measure how far devices are that were seen there before. Nobody else needs it. */
  #addAcknowledged({ partition, client, epoch, seq }: Acknowledgement): void {
    if (this.#parts.members.count === 0) return;
    if (this.#acknowledged.size === 0) this.#parts.timers.after(ACKNOWLEDGED_BATCH_MS, () => this.#sendAcknowledged());
    const key = `${client}\n${partitionName(partition)}`;
    if (this.#acknowledged.size >= ACKNOWLEDGED_PER_HINT_MAX && !this.#acknowledged.has(key)) return;
    this.#acknowledged.set(key, { ...hinted(partition), client, epoch, seq });
  }

  #sendAcknowledged(): void {
    const states = [...this.#acknowledged.values()];
    this.#acknowledged.clear();
    this.#parts.members.tell({ kind: 'acknowledged', states });
  }

  #addChange({ partition, range }: Committed): void {
    if (this.#changed.size === 0) this.#parts.timers.after(BATCH_MS, () => this.#sendChanges());
    if (this.#changed.size > PARTITIONS_PER_HINT_MAX) return;
    const key = partitionName(partition);
    const before = this.#changed.get(key);
    const joined = before === undefined ? range : joinRanges(before.range ?? null, range ?? null);
    this.#changed.set(key, { ...hinted(partition), ...(joined ? { range: joined } : {}) });
  }

  #sendChanges(): void {
    if (this.#changed.size === 0) return;
    const partitions = this.#changed.size > PARTITIONS_PER_HINT_MAX ? null : [...this.#changed.values()];
    this.#changed.clear();
    this.#parts.members.tell({ kind: 'changed', partitions });
  }

  #apply(hint: Hint): void {
    const { hub, limiter, rates, pings, tidemark, activity } = this.#parts;
    if (hint.kind === 'changed') this.#applyChanges(hint.partitions);
    else if (hint.kind === 'acknowledged') this.#applyAcknowledged(hint.states);
    else if (hint.kind === 'outcomes') hub.outcomes(hint.client);
    else if (hint.kind === 'listens') hub.replaced(hint.client, hint.atMs);
    else if (hint.kind === 'login_failed') limiter.noteFailed(hint.keys);
    else if (hint.kind === 'spent') rates.noteSpent(hint);
    else if (hint.kind === 'pinged') pings.countElsewhere(hint.caller);
    else if (hint.kind === 'watching' || hint.kind === 'activity') activity.receive(hint);
    else if (hint.kind === 'sessions') this.#applyNotice(hint.kind, hint.user);
    else if (hint.kind === 'sources') this.#applyNotice(hint.kind);
    else if (hint.kind === 'reset') {
      // Statistics that are not flushed yet belong to the data before the reset.
      tidemark.stats.clear();
      this.#applyNotice('reset');
    }
  }

  #applyChanges(partitions: readonly ChangedPartition[] | null): void {
    const { hub, tidemark } = this.#parts;
    if (partitions === null) void hub.pullAll();
    else {
      for (const changed of partitions) {
        const { range } = changed;
        const partition = partitionIn(changed);
        if (range !== undefined) tidemark.freshness.committed(partition, range);
        hub.committed({ partition, cause: 'push', ...(range === undefined ? {} : { range }) });
      }
    }
  }

  #applyAcknowledged(states: readonly AcknowledgedState[]): void {
    const { freshness } = this.#parts.tidemark;
    for (const state of states) {
      const { client, epoch, seq: base } = state;
      freshness.acknowledgedElsewhere(partitionIn(state), { client, epoch, base });
    }
  }

  #applyNotice(notice: ClusterNotice, user: string | null = null): void {
    const { hub, activity, queues } = this.#parts;
    if (notice !== 'sources') {
      const whose = notice === 'sessions' ? user : null;
      void hub.recheck(whose);
      void activity.recheck(whose);
    }
    if (notice === 'sessions') return;
    queues.discover();
    // Devices learn of new, changed and dropped sources by pulling; without this they would at their next poll.
    void hub.pullAll();
  }

  #answer(query: ClusterQuery): ClusterAnswer {
    const { hub } = this.#parts;
    if (query.kind === 'listeners') return hub.size;
    if (query.kind === 'listening') return hub.isListening(query.client) ? 1 : 0;
    if (query.kind === 'listening_of') return query.clients.filter((client) => hub.isListening(client));
    if (query.kind === 'ping') return hub.ping(query.client, query.ping) ? 1 : 0;
    // A newer server may ask what this version does not know.
    return 0;
  }

  #recoverFromGap(): void {
    this.#applyNotice('reset');
  }
}
