import { type PushService, parseJson } from '@tidemark/protocol';
import type { PartitionKey } from '../ports/store.ts';
import { isoTime } from '../primitives/time.ts';

/** The final results of a ping on one device. */
export const FINAL_STATUSES = ['accepted', 'sent', 'retired', 'failed', 'gone', 'collapsed'] as const;
export type FinalStatus = (typeof FINAL_STATUSES)[number];
/** `retrying`: an attempt has failed and will be repeated. */
export type ResultStatus = FinalStatus | 'retrying';

/** A ping as a whole. */
export interface PingRecord {
  readonly atMs: number;
  /** The caller; null when the server sent it. */
  readonly actor: string | null;
  readonly cause: 'call' | 'push' | 'repeat';
  readonly sources: readonly string[];
  readonly hasMessage: boolean;
  readonly users: number;
  readonly devices: number;
  readonly skipped: number;
  /** Devices by their final result. */
  readonly counts: Readonly<Record<FinalStatus, number>>;
  /** Devices that may have got it twice. */
  readonly repeated: number;
}

/** The result of a ping on one device, without the address. */
export interface ResultRecord {
  readonly status: ResultStatus;
  readonly service: PushService | null;
  readonly reason: string | null;
  readonly attempts: number;
  readonly atMs: number;
  /** The ping was sent again although an earlier attempt may have succeeded. */
  readonly isRepeated: boolean;
  /** It is not known whether the last attempt succeeded. */
  readonly isAnswerLost: boolean;
  /** What the sources of the ping held before it was sent. Absent: it was not sent, or names no source. */
  readonly heads?: readonly PingedHead[];
}

/** The state of a partition before a ping was sent. */
export interface PingedHead {
  readonly partition: PartitionKey;
  readonly epoch: string;
  readonly head: number;
}

export interface PingView {
  readonly ping_id: string;
  readonly at: string;
  readonly actor: string | null;
  readonly cause: 'call' | 'push' | 'repeat';
  readonly sources: readonly string[];
  readonly has_message: boolean;
  readonly users: number;
  readonly devices: number;
  readonly skipped: number;
  readonly pending: number;
  readonly accepted: number;
  readonly sent: number;
  readonly retired: number;
  readonly failed: number;
  readonly gone: number;
  readonly collapsed: number;
  readonly repeated: number;
}

export interface ResultView {
  readonly client_id: string;
  readonly service: PushService | null;
  readonly status: ResultStatus;
  readonly reason: string | null;
  readonly attempts: number;
  readonly at: string;
  readonly repeated: boolean;
  readonly answer_lost: boolean;
  readonly caught_up_by: string | null;
}

export const NO_RESULTS: Readonly<Record<FinalStatus, number>> = {
  accepted: 0,
  sent: 0,
  retired: 0,
  failed: 0,
  gone: 0,
  collapsed: 0,
};

export function isFinal(status: ResultStatus): status is FinalStatus {
  return status !== 'retrying';
}

export function pingView(id: string, record: PingRecord): PingView {
  const { atMs, actor, cause, sources, hasMessage, users, devices, skipped, counts, repeated } = record;
  const done = FINAL_STATUSES.reduce((sum, status) => sum + counts[status], 0);
  const head = { ping_id: id, at: isoTime(atMs), actor, cause, sources, has_message: hasMessage };
  return { ...head, users, devices, skipped, pending: Math.max(0, devices - done), ...counts, repeated };
}

export function resultView(client: string, record: ResultRecord, caughtUpByMs: number | null): ResultView {
  const { service, status, reason, attempts, atMs, isRepeated, isAnswerLost } = record;
  const view = { client_id: client, service, status, reason, attempts, at: isoTime(atMs) };
  const caughtUpBy = caughtUpByMs === null ? null : isoTime(caughtUpByMs);
  return { ...view, repeated: isRepeated, answer_lost: isAnswerLost, caught_up_by: caughtUpBy };
}

export function readPingRecord(text: string): PingRecord {
  return parseJson(text) as PingRecord;
}

export function readResultRecord(text: string): ResultRecord {
  return parseJson(text) as ResultRecord;
}

/** Adds results to the counts of a ping, which are then written once. */
export class PingCounts {
  readonly #before: PingRecord;
  readonly #counts: Record<FinalStatus, number>;
  #repeated: number;
  #isChanged = false;

  constructor(ping: PingRecord) {
    this.#before = ping;
    this.#counts = { ...ping.counts };
    this.#repeated = ping.repeated;
  }

  /** The ping with its new counts; the same object as before when nothing has changed. */
  get ping(): PingRecord {
    return this.#isChanged ? { ...this.#before, counts: { ...this.#counts }, repeated: this.#repeated } : this.#before;
  }

  /**
   * Counts a result and returns it as it is to be stored; null when the device has a final result already. A failure is
   * not final when an operator revives the job.
   */
  add(before: ResultRecord | null, result: ResultRecord): ResultRecord | null {
    if (before !== null && isFinal(before.status) && before.status !== 'failed') return null;
    if (before !== null && isFinal(before.status)) this.#count(before.status, -1);
    if (isFinal(result.status)) this.#count(result.status, 1);
    const isRepeated = result.isRepeated || (before?.isRepeated ?? false);
    if (isRepeated && before?.isRepeated !== true) {
      this.#repeated++;
      this.#isChanged = true;
    }
    return isRepeated === result.isRepeated ? result : { ...result, isRepeated };
  }

  #count(status: FinalStatus, change: 1 | -1): void {
    this.#counts[status] += change;
    this.#isChanged = true;
  }
}
