import type { Cluster, Redis } from 'ioredis';
import { unavailable } from './failure.ts';
import type { Argument, Reply } from './wire.ts';

/** What must be so before a write is acknowledged. */
export interface Confirmation {
  /** Replicas that must have it: in memory, or on their disks when it must be on disks. */
  readonly replicas: number;
  /** Whether it must be in the append-only file on the disk of the primary, by WAITAOF. */
  readonly isOnDisk: boolean;
}

/** Writes confirmed together. */
const GROUP_MAX = 1_000;

interface Waiting {
  readonly args: Argument[];
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

export function isAsked({ replicas, isOnDisk }: Confirmation): boolean {
  return replicas > 0 || isOnDisk;
}

/**
 * Writes that are waited for. The server holds up a connection while it waits, so these have one of their own, and those
 * that come while it waits go together behind it: the wait is shared, and reads know nothing of it.
 */
export class ConfirmedWrites {
  readonly #client: Redis;
  readonly #confirmation: Confirmation;
  readonly #timeoutMs: number;
  #waiting: Waiting[] = [];
  #isBusy = false;

  constructor(client: Redis, confirmation: Confirmation, timeoutMs: number) {
    this.#client = client;
    this.#confirmation = confirmation;
    this.#timeoutMs = timeoutMs;
  }

  run(args: Argument[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ args, resolve, reject });
      void this.#work();
    });
  }

  async #work(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      while (this.#waiting.length > 0) await this.#together(this.#waiting.splice(0, GROUP_MAX));
    } finally {
      this.#isBusy = false;
    }
  }

  /** Never rejects: whatever happens is told to those who wait. */
  async #together(group: readonly Waiting[]): Promise<void> {
    try {
      const replies = await confirmed(
        this.#client,
        group.map(({ args }) => args),
        this.#confirmation,
        this.#timeoutMs,
      );
      for (const [index, { resolve, reject }] of group.entries()) {
        const [error, reply] = replies[index] ?? [unavailable('the connection was lost'), null];
        if (error === null) resolve(reply);
        else reject(error);
      }
    } catch (error) {
      for (const { reject } of group) reject(error as Error);
    }
  }
}

type Outcome = readonly [error: Error | null, reply: Reply];

/** Sends writes and the wait for them on one connection, so that it waits for what they wrote. */
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
  const [error, answer] = wait;
  const doubt = error ?? doubtAbout(confirmation, answer);
  // What became of the write itself is told first: one that failed has nothing to be confirmed.
  return outcomes.slice(0, writes.length).map(([failure, reply]) => [failure ?? doubt, reply as Reply]);
}

/** Why the writes must not be acknowledged; null when they may. */
function doubtAbout({ replicas, isOnDisk }: Confirmation, answer: unknown): Error | null {
  const [local, remote] = isOnDisk ? (answer as readonly [number, number]).map(Number) : [1, Number(answer)];
  if ((local ?? 0) < 1) return unavailable('the write is not on the disk in time');
  return (remote ?? 0) < replicas ? unavailable('too few replicas have confirmed the write') : null;
}
