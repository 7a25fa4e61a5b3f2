import {
  announceChange,
  type Clock,
  type CommitCause,
  claimPushNotice,
  type Jobs,
  type Log,
  type PartitionKey,
  type Pings,
  type PushNoticeDecision,
  PushNotices,
  type Tidemark,
} from '@tidemark/core';
import { systemTimers, type Timers } from '../jobs/timers.ts';

export interface PushNoticesParts {
  readonly tidemark: Tidemark;
  readonly pings: Pings;
  readonly jobs: Jobs;
  readonly clock: Clock;
  /** Measures durations: it is never set. Absent: `clock`. */
  readonly steadyClock?: Clock;
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
 * Pings the users of sources with `push_notify` after changes, together with all servers on the same store. What is
 * collected is kept in memory: a server that dies within the delay tells nobody, and devices find the change at their
 * next look, as they would without any ping.
 */
export function startPushNotices(parts: PushNoticesParts): RunningNotices {
  const { tidemark, clock, steadyClock = clock, delayMs, timers = systemTimers } = parts;
  const notices = new PushNotices(steadyClock, delayMs);
  let cancel: (() => void) | null = null;
  let telling: Promise<void> = Promise.resolve();
  let isStopping = false;
  const wake = () => {
    const waitMs = notices.waitMs();
    if (isStopping || cancel !== null || waitMs === null) return;
    cancel = timers.after(waitMs, () => {
      cancel = null;
      telling = telling.then(tellDue);
    });
  };
  const tellDue = async () => {
    for (const partition of await tellAll(parts, notices.take(), delayMs)) notices.note(partition);
    wake();
  };
  const end = tidemark.onCommitted(({ partition, cause }) => {
    if (!TOLD_CAUSES.has(cause)) return;
    notices.note(partition);
    wake();
  });
  return {
    async stop() {
      isStopping = true;
      end();
      cancel?.();
      // What is being told may turn out to be told later, which is now.
      await telling;
      await tellAll(parts, notices.take({ all: true }), 0);
    },
  };
}

/** Answers those that must be told later, since another server has told of them within the time. */
async function tellAll(
  parts: PushNoticesParts,
  partitions: readonly PartitionKey[],
  everyMs: number,
): Promise<readonly PartitionKey[]> {
  const later: PartitionKey[] = [];
  for (const partition of partitions) {
    try {
      if ((await tell(parts, partition, everyMs)) === 'wait') later.push(partition);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      parts.log.warn('push_not_announced', { source: partition.source, reason });
    }
  }
  return later;
}

/** Whether the source wants it is asked only now: once for all changes of the while. */
async function tell(
  { tidemark: { store, sources }, pings, jobs, clock }: PushNoticesParts,
  partition: PartitionKey,
  everyMs: number,
): Promise<PushNoticeDecision> {
  if (!(await sources.has(partition.source))) return 'told';
  const { push_notify: isWanted } = await sources.view(partition.source);
  if (!isWanted) return 'told';
  const turn = await claimPushNotice({ store, clock, sources }, partition, everyMs);
  if (turn === 'tell') await announceChange(pings, jobs, partition);
  return turn;
}
