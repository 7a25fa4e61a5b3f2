import { type ClientError, clientError } from '../client-error.ts';
import type { Mode } from '../machine/machine.ts';

export interface SyncGoal {
  /** Every source must have been complete after this tick. */
  readonly tick: number;
  /** Every upload before this one must have been sent. */
  readonly order: number;
}

interface Waiter {
  readonly goal: SyncGoal;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The callers of `sync()` that wait. */
export class SyncWaiters {
  readonly #waiters = new Set<Waiter>();

  wait(goal: SyncGoal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiters.add({ goal, resolve, reject });
    });
  }

  settle(isReached: (goal: SyncGoal) => boolean): void {
    for (const waiter of [...this.#waiters]) {
      if (!isReached(waiter.goal)) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  fail(error: unknown): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const { reject } of waiters) reject(error);
  }
}

/** Why `sync()` is refused in a mode; null: it is not. */
export function syncRefusal(mode: Mode): ClientError | null {
  if (mode === 'stopped') return clientError('closed', 'the device is closed');
  if (mode === 'offline') return clientError('offline', 'the device is offline');
  if (mode === 'signed_out') return clientError('signed_out', 'nobody is signed in');
  return mode === 'needs_sign_in' ? clientError('sign_in_required', 'the session has ended; sign in again') : null;
}
