import { PING_REPEAT_FIRST_MS, PING_REPEAT_SEEN_MS, PING_REPEATS_MAX, parseJson, Refusal } from '@tidemark/protocol';
import { refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { JobHandler, Jobs } from '../ports/jobs.ts';
import { ownerText, readOwner } from '../ports/owner.ts';
import type { PartitionKey, Store } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import type { Sources } from '../sources/sources.ts';
import { ANNOUNCE_QUEUE } from './announce-change.ts';
import { type PushRepeat, readPushNotice } from './ping-dedup.ts';
import type { Pings } from './pings.ts';

/** The kind of jobs that ping the devices that are still behind after a push. */
export const REPEAT_KIND = 'repeat';
const ATTEMPTS_MAX = 5;
const DEVICES_PER_JOB = 1_000;
/** A repetition that is late by so much is taken for lost, and the next push begins anew. */
const LOST_AFTER_MS = 600_000;

/** A page of the devices that have not acknowledged the newest state of a source. */
export interface BehindCall {
  readonly source: string;
  readonly user: string | null;
  readonly after: string | null;
  readonly limit: number;
  /** Devices that were not seen for longer are left out. */
  readonly seenWithinMs: number;
}

export interface BehindClients {
  readonly clients: readonly string[];
  /** `after` of the next page; null: this is the last. */
  readonly next: string | null;
}

export interface RepeatPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly jobs: Pick<Jobs, 'enqueue'>;
  readonly sources: Pick<Sources, 'has' | 'view'>;
  readonly pings: Pick<Pings, 'repeat'>;
  readonly behind: (call: BehindCall) => Promise<BehindClients>;
}

interface RepeatPayload {
  readonly source: string;
  /** Null: the data of the source is everybody's. */
  readonly user: string | null;
  /** Repetitions of another chain have been replaced by a later push. */
  readonly chain: string;
  /** 1 for the first repetition. */
  readonly round: number;
  readonly after: string | null;
  /** Whether an earlier page of this round had devices to ping. */
  readonly hasPinged: boolean;
}

/** The partition that the repeated notices are about. */
function partitionOf({ source, user }: RepeatPayload): PartitionKey {
  return { source, owner: readOwner(user) };
}

/** The pause before a repetition doubles from one to the next. */
function repeatPauseMs(round: number): number {
  return PING_REPEAT_FIRST_MS * 2 ** (round - 1);
}

/**
 * Plans the first repetition after a push was announced. A repetition that is due within the first pause includes the new
 * changes; one that is due later is replaced.
 */
export async function startRepeats(ports: RepeatPorts, recipients: PartitionKey): Promise<void> {
  const nowMs = ports.clock.nowMs();
  const dueMs = nowMs + repeatPauseMs(1);
  const isPending = (repeat: PushRepeat | null) =>
    repeat !== null && repeat.dueMs <= dueMs && nowMs - repeat.dueMs < LOST_AFTER_MS;
  const chain = `${nowMs}`;
  const isStarted = await changeRepeat(ports, recipients, (repeat) =>
    isPending(repeat) ? undefined : { chain, round: 1, dueMs },
  );
  if (isStarted)
    await enqueue(
      ports,
      { source: recipients.source, user: ownerText(recipients.owner), chain, round: 1, after: null, hasPinged: false },
      dueMs,
    );
}

/**
 * Returns the handler that pings a page of the devices that are behind. After the last page it plans the next repetition,
 * unless no device was left to ping.
 */
export function repeatToBehind(ports: RepeatPorts): JobHandler {
  return async ({ payload, attempt }) => {
    const repeat = parseJson(payload) as RepeatPayload;
    const { source, round, after } = repeat;
    if (after === null && !(await claimRound(ports, repeat, attempt))) return;
    const page = await behindPage(ports, repeat);
    const devices = page.clients.length === 0 ? 0 : await ports.pings.repeat(source, page.clients);
    const hasPinged = repeat.hasPinged || devices > 0;
    const nowMs = ports.clock.nowMs();
    if (page.next !== null) await enqueue(ports, { ...repeat, after: page.next, hasPinged }, nowMs);
    else if (hasPinged && round < PING_REPEATS_MAX) {
      const next = { ...repeat, round: round + 1, after: null, hasPinged: false };
      await enqueue(ports, next, nowMs + repeatPauseMs(round + 1));
    } else {
      await changeRepeat(ports, partitionOf(repeat), (now) => (now?.chain === repeat.chain ? null : undefined));
    }
  };
}

/** An attempt after the first may find that the first one has claimed the round and died. */
function claimRound(ports: RepeatPorts, payload: RepeatPayload, attempt: number) {
  const { chain, round } = payload;
  const dueMs = ports.clock.nowMs() + repeatPauseMs(round + 1);
  return changeRepeat(ports, partitionOf(payload), (repeat) => {
    const isMine = repeat?.chain === chain && (repeat.round === round || (attempt > 1 && repeat.round === round + 1));
    return isMine ? { chain, round: round + 1, dueMs } : undefined;
  });
}

/** Nobody is behind in a source that is gone, or that repeats nothing any more. */
async function behindPage(ports: RepeatPorts, { source, user, after }: RepeatPayload): Promise<BehindClients> {
  const nobody: BehindClients = { clients: [], next: null };
  try {
    if ((await ports.sources.view(source)).push_notify !== 'until_delivered') return nobody;
    return await ports.behind({ source, user, after, limit: DEVICES_PER_JOB, seenWithinMs: PING_REPEAT_SEEN_MS });
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return nobody;
    throw error;
  }
}

/** Writes what `change` returns next to the last notice: null for none, undefined to leave it. Returns whether it wrote. */
async function changeRepeat(
  { store }: RepeatPorts,
  recipients: PartitionKey,
  change: (repeat: PushRepeat | null) => PushRepeat | null | undefined,
): Promise<boolean> {
  const ref = refs.noticed(recipients);
  return retryOnConflict(async () => {
    const entry = await store.readEntry(ref);
    if (entry === null) return false;
    const { repeat = null, ...notice } = readPushNotice(entry.value);
    const changed = change(repeat);
    if (changed === undefined) return false;
    const value = JSON.stringify(changed === null ? notice : { ...notice, repeat: changed });
    const { status } = await store.writeEntries({ writes: [{ ...ref, value, expect: entry.version }], guards: [] });
    return status === 'written' ? true : null;
  });
}

async function enqueue({ jobs }: RepeatPorts, payload: RepeatPayload, dueAtMs: number): Promise<void> {
  const job = { kind: REPEAT_KIND, payload: JSON.stringify(payload), attemptsMax: ATTEMPTS_MAX, dueAtMs };
  await jobs.enqueue(ANNOUNCE_QUEUE, job);
}
