import type { Log, Tidemark } from '@tidemark/core';

const FLUSH_EVERY_MS = 5_000;
const TIDY_EVERY_MS = 3_600_000;
const PARTITIONS_PER_READ = 1_000;
const DAY_MS = 24 * 3_600_000;

export interface ChoresConfig {
  readonly devices: { readonly retentionDays: number };
}

export interface Chores {
  /** Ends the rounds and carries what was measured into the store. */
  stop(): Promise<void>;
}

/** What has to be done from time to time, whoever asks for anything: keeping statistics, forgetting what is old. */
export function startChores(tidemark: Tidemark, log: Log, { devices }: ChoresConfig): Chores {
  const told = (chore: string) => (error: unknown) =>
    log.warn('chore_failed', { chore, reason: error instanceof Error ? error.message : String(error) });
  const flush = () => tidemark.stats.flush().catch(told('flush'));
  const tidy = () => tidyUp(tidemark, devices.retentionDays * DAY_MS).catch(told('tidy'));
  const timers = [setInterval(flush, FLUSH_EVERY_MS), setInterval(tidy, TIDY_EVERY_MS)];
  for (const timer of timers) timer.unref();
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await flush();
    },
  };
}

async function tidyUp(tidemark: Tidemark, retentionMs: number): Promise<void> {
  const nowMs = Date.now();
  await tidemark.tokens.trimExpired(nowMs);
  await tidemark.stats.trim(nowMs);
  await tidemark.audit.trim(nowMs);
  let after: { readonly source: string; readonly user: string | null } | undefined;
  for (;;) {
    const page = { limit: PARTITIONS_PER_READ, ...(after === undefined ? {} : { after }) };
    const partitions = await tidemark.store.partitions(page);
    for (const { source, user } of partitions) {
      await tidemark.trim({ source, ...(user === null ? {} : { user_id: user }), retentionMs });
    }
    after = partitions.at(-1);
    if (after === undefined || partitions.length < PARTITIONS_PER_READ) return;
  }
}
