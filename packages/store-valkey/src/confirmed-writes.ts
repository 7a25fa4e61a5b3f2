import type { Cluster, Redis } from 'ioredis';
import { unavailable } from './failure.ts';
import type { Argument, Reply } from './wire.ts';

/** What must be confirmed before a write is acknowledged. */
export interface Confirmation {
  /** Replicas that must have the write: in memory or, with `isOnDisk`, on their disks. */
  readonly replicas: number;
  /** True: the write must be in the append-only file on the disk of the primary (WAITAOF). */
  readonly isOnDisk: boolean;
}

/** Writes that are sent and confirmed together. */
const BATCH_MAX = 1_000;

interface QueuedWrite {
  readonly args: Argument[];
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

export function isRequested({ replicas, isOnDisk }: Confirmation): boolean {
  return replicas > 0 || isOnDisk;
}

/**
 * Batches writes that wait for a confirmation. The server blocks a connection while it waits, so these writes have a
 * connection of their own. Writes that arrive while one batch waits form the next batch and share its wait.
 */
export class ConfirmedWrites {
  readonly #client: Redis;
  readonly #confirmation: Confirmation;
  readonly #timeoutMs: number;
  #queue: QueuedWrite[] = [];
  #isBusy = false;

  constructor(client: Redis, confirmation: Confirmation, timeoutMs: number) {
    this.#client = client;
    this.#confirmation = confirmation;
    this.#timeoutMs = timeoutMs;
  }

  run(args: Argument[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ args, resolve, reject });
      void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      while (this.#queue.length > 0) await this.#send(this.#queue.splice(0, BATCH_MAX));
    } finally {
      this.#isBusy = false;
    }
  }

  /** Never rejects: failures go to the callers of `run`. */
  async #send(batch: readonly QueuedWrite[]): Promise<void> {
    try {
      const writes = batch.map(({ args }) => args);
      const replies = await confirmed(this.#client, writes, this.#confirmation, this.#timeoutMs);
      for (const [index, { resolve, reject }] of batch.entries()) {
        const [error, reply] = replies[index] ?? [unavailable('the connection was lost'), null];
        if (error === null) resolve(reply);
        else reject(error);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error as Error);
    }
  }
}

type Outcome = readonly [error: Error | null, reply: Reply];

/** Sends writes and the wait for them on one connection: the server then waits for what that connection wrote. */
export async function confirmed(
  client: Redis | Cluster,
  writes: readonly Argument[][],
  confirmation: Confirmation,
  timeoutMs: number,
): Promise<readonly Outcome[]> {
  const pipeline = client.pipeline();
  for (const [command = '', ...args] of writes) pipeline.callBuffer(String(command), args);
  const { replicas, isOnDisk } = confirmation;
  if (isOnDisk) pipeline.call('WAITAOF', 1, replicas, timeoutMs);
  else pipeline.call('WAIT', replicas, timeoutMs);
  const outcomes = (await pipeline.exec()) ?? [];
  const wait = outcomes[writes.length];
  if (wait === undefined) throw unavailable('the connection was lost');
  const [waitError, counts] = wait;
  const unconfirmed = waitError ?? unconfirmedError(confirmation, counts);
  // The error of the write itself comes first: a write that failed has nothing to confirm.
  return outcomes.slice(0, writes.length).map(([error, reply]) => [error ?? unconfirmed, reply as Reply]);
}

/** Returns the error for writes that were not confirmed; null when they were. */
function unconfirmedError({ replicas, isOnDisk }: Confirmation, counts: unknown): Error | null {
  const [local, remote] = isOnDisk ? (counts as readonly [number, number]).map(Number) : [1, Number(counts)];
  if ((local ?? 0) < 1) return unavailable('the write is not on the disk in time');
  return (remote ?? 0) < replicas ? unavailable('too few replicas have confirmed the write') : null;
}
