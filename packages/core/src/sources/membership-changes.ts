import { errorMessage } from '@tidemark/protocol';
import type { Log } from '../ports/log.ts';
import type { PartitionKey } from '../ports/store.ts';
import type { Memberships } from './memberships.ts';

/** Something that happened in a partition. */
interface News {
  readonly partition: PartitionKey;
}

const MEMBERS_PER_READ = 1_000;

/**
 * Tells what happened in a custom partition as if it had happened to each of its users, so that those who listen need not
 * know who shares what with whom. What comes while the members of a partition are being told is told once more, and once.
 */
export class MembershipChanges<T extends News> {
  readonly #memberships: Pick<Memberships, 'members'>;
  readonly #log: Log;
  readonly #tell: (news: T) => void;
  /** What is being told → what came since, by cause and partition. */
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
    if (!isUnderWay) void this.#rounded(key, news);
  }

  async #rounded(key: string, first: T): Promise<void> {
    for (let news: T | null = first; news !== null; news = this.#rounds.get(key) ?? null) {
      this.#rounds.set(key, null);
      // Hints only: devices that are not told find out at their next look.
      await this.#toldAll(news).catch((error: unknown) => {
        const reason = errorMessage(error);
        this.#log.warn('members_not_told', { source: news?.partition.source, reason });
      });
    }
    this.#rounds.delete(key);
  }

  async #toldAll(news: T): Promise<void> {
    const { partition } = news;
    for (let after: string | undefined; ; ) {
      const page = { limit: MEMBERS_PER_READ, ...(after === undefined ? {} : { after }) };
      const users = await this.#memberships.members(partition, page);
      for (const user of users) this.#tell({ ...news, partition: { ...partition, user } });
      after = users.at(-1);
      if (after === undefined || users.length < MEMBERS_PER_READ) return;
    }
  }
}
