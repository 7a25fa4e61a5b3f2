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
  type RepeatPorts,
  startRepeats,
  type Tidemark,
} from '@tidemark/core';
import { errorMessage } from '@tidemark/protocol';
import { systemTimers, type Timers } from '../jobs/timers.ts';

export interface PushNoticesParts {
  readonly tidemark: Tidemark;
  readonly pings: Pings;
  readonly jobs: Jobs;
  readonly clock: Clock;
  /** Measures durations: it is never set. Absent: `clock`. */
  readonly steadyClock?: Clock;
  readonly log: Log;
  /** How long changes are collected before they are announced. */
  readonly delayMs: number;
  readonly timers?: Timers;
}

export interface RunningNotices {
  /** Announces what was collected, then stops. */
  stop(): Promise<void>;
}

/** Changes by a backend. Uploads of devices and refreshes are announced elsewhere. */
const ANNOUNCED_CAUSES: ReadonlySet<CommitCause> = new Set(['push', 'document']);

/**
 * Pings the users of sources with `push_notify` after changes, together with all servers on the same store. Collected
 * changes are in memory: if a server dies within the delay, devices get no ping and find the change at their next
 * pull.
 */
export function startPushNotices(parts: PushNoticesParts): RunningNotices {
  const { tidemark, clock, steadyClock = clock, delayMs, timers = systemTimers } = parts;
  const notices = new PushNotices(steadyClock, delayMs);
  let cancel: (() => void) | null = null;
  let announcing: Promise<void> = Promise.resolve();
  let isStopping = false;
  const wake = () => {
    if (isStopping || cancel !== null) return;
    const waitMs = notices.waitMs();
    if (waitMs === null) return;
    cancel = timers.after(waitMs, () => {
      cancel = null;
      announcing = announcing.then(announceDue);
    });
  };
  const announceDue = async () => {
    for (const partition of await announceAll(parts, notices.take(), delayMs)) notices.note(partition);
    wake();
  };
  const end = tidemark.events.on('committed', ({ partition, cause }) => {
    if (!ANNOUNCED_CAUSES.has(cause)) return;
    notices.note(partition);
    wake();
  });
  return {
    async stop() {
      isStopping = true;
      end();
      cancel?.();
      // Announcements under way may put changes back, which are then announced below.
      await announcing;
      await announceAll(parts, notices.take({ all: true }), 0);
    },
  };
}

/** Returns the partitions to announce later, because another server has announced them within the time. */
async function announceAll(
  parts: PushNoticesParts,
  partitions: readonly PartitionKey[],
  everyMs: number,
): Promise<readonly PartitionKey[]> {
  const later: PartitionKey[] = [];
  for (const partition of partitions) {
    try {
      if ((await tell(parts, partition, everyMs)) === 'wait') later.push(partition);
    } catch (error) {
      const reason = errorMessage(error);
      parts.log.warn('push_not_announced', { source: partition.source, reason });
    }
  }
  return later;
}

/** Reads `push_notify` only now, once for all collected changes. */
async function tell(parts: PushNoticesParts, partition: PartitionKey, everyMs: number): Promise<PushNoticeDecision> {
  const { tidemark, pings, jobs, clock } = parts;
  const { store, sources } = tidemark;
  if (!(await sources.has(partition.source))) return 'sent';
  const { push_notify: wanted } = await sources.view(partition.source);
  if (wanted === false) return 'sent';
  const decision = await claimPushNotice({ store, clock, sources }, partition, everyMs);
  if (decision === 'send') {
    await announceChange(pings, jobs, partition);
    if (wanted === 'until_delivered') await startRepeats(repeatPorts(parts), partition);
  }
  return decision;
}

/** What repetitions of pings to devices that are behind work with. */
export function repeatPorts({ tidemark, pings, jobs, clock }: RepeatParts): RepeatPorts {
  const { store, sources, receipts } = tidemark;
  return { store, sources, pings, jobs, clock, behind: (call) => receipts.behindClients(call) };
}

type RepeatParts = Pick<PushNoticesParts, 'tidemark' | 'pings' | 'jobs' | 'clock'>;
