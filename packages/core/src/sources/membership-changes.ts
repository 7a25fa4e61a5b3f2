import { errorMessage } from '@tidemark/protocol';
import type { Log } from '../ports/log.ts';
import { userPartition } from '../ports/owner.ts';
import type { PartitionKey } from '../ports/store.ts';
import type { Memberships } from './memberships.ts';

/** An event in a partition. */
interface PartitionEvent {
  readonly partition: PartitionKey;
}

const MEMBERS_PER_READ = 1_000;

/**
 * Passes an event of a group on as one event for each of its members, so that listeners need not know about groups. Equal events that arrive while the members are being told are combined into one further round.
 */
export class MembershipChanges<T extends PartitionEvent> {
  readonly #memberships: Pick<Memberships, 'members'>;
  readonly #log: Log;
  readonly #tell: (news: T) => void;
  /** By event: the equal event that arrived during the round, or null. */
  readonly #rounds = new Map<string, T | null>();

  constructor(memberships: Pick<Memberships, 'members'>, log: Log, tell: (news: T) => void) {
    this.#memberships = memberships;
    this.#log = log;
    this.#tell = tell;
  }

  note(news: T): void {
    const key = JSON.stringify(news);
    const isUnderWay = this.#rounds.has(key);
    this.#rounds.set(key, isUnderWay ? news : null);
    if (!isUnderWay) void this.#runRounds(key, news);
  }

  async #runRounds(key: string, first: T): Promise<void> {
    for (let news: T | null = first; news !== null; news = this.#rounds.get(key) ?? null) {
      this.#rounds.set(key, null);
      // Events are hints: a device that misses one gets the change with its next pull.
      await this.#tellMembers(news).catch((error: unknown) => {
        const reason = errorMessage(error);
        this.#log.warn('members_not_told', { source: news?.partition.source, reason });
      });
    }
    this.#rounds.delete(key);
  }

  async #tellMembers(news: T): Promise<void> {
    const { partition } = news;
    for (let after: string | undefined; ; ) {
      const page = { limit: MEMBERS_PER_READ, ...(after === undefined ? {} : { after }) };
      const users = await this.#memberships.members(partition, page);
      for (const user of users) this.#tell({ ...news, partition: userPartition(partition.source, user) });
      after = users.at(-1);
      if (after === undefined || users.length < MEMBERS_PER_READ) return;
    }
  }
}
