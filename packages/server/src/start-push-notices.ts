import {
  announceChange,
  type Clock,
  type CommitCause,
  type Jobs,
  type Log,
  type PartitionKey,
  type Pings,
  PushNotices,
  type Tidemark,
} from '@tidemark/core';
import { systemTimers, type Timers } from './jobs/timers.ts';

export interface PushNoticesParts {
  readonly tidemark: Tidemark;
  readonly pings: Pings;
  readonly jobs: Jobs;
  readonly clock: Clock;
  readonly log: Log;
  /** How long changes are collected. */
  readonly delayMs: number;
  readonly timers?: Timers;
}

export interface RunningNotices {
  /** Tells what still waits, then nothing more. */
  stop(): Promise<void>;
}

/** What a backend has done. What devices upload, and what the server fetches itself, their own ways tell of. */
const TOLD_CAUSES: ReadonlySet<CommitCause> = new Set(['push', 'document']);

/**
 * Pings the users of sources with `push_notify` after changes. What is collected is kept in memory: a server that dies
 * within the delay tells nobody, and devices find the change at their next look, as they would without any ping.
 */
export function startPushNotices(parts: PushNoticesParts): RunningNotices {
  const { tidemark, clock, delayMs, timers = systemTimers } = parts;
  const notices = new PushNotices(clock, delayMs);
  let cancel: (() => void) | null = null;
  const wake = () => {
    const waitMs = notices.waitMs();
    if (cancel !== null || waitMs === null) return;
    cancel = timers.after(waitMs, () => {
      cancel = null;
      void tellAll(parts, notices.take()).then(wake);
    });
  };
  const end = tidemark.onCommitted(({ partition, cause }) => {
    if (!TOLD_CAUSES.has(cause)) return;
    notices.note(partition);
    wake();
  });
  return {
    async stop() {
      end();
      cancel?.();
      await tellAll(parts, notices.take({ all: true }));
    },
  };
}

async function tellAll(parts: PushNoticesParts, partitions: readonly PartitionKey[]): Promise<void> {
  for (const partition of partitions) {
    try {
      await tell(parts, partition);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      parts.log.warn('push_not_announced', { source: partition.source, reason });
    }
  }
}

/** Whether the source wants it is asked only now: once for all changes of the while. */
async function tell({ tidemark, pings, jobs }: PushNoticesParts, partition: PartitionKey): Promise<void> {
  if (!(await tidemark.sources.has(partition.source))) return;
  const { push_notify: isWanted } = await tidemark.sources.view(partition.source);
  if (isWanted) await announceChange(pings, jobs, partition);
}
