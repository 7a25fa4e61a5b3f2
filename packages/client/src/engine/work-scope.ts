import { clientError } from '../client-error.ts';
import type { Replica, TransactOptions } from '../replica/replica.ts';
import type { Transaction } from '../state/local-state.ts';
import type { SessionRow } from '../state/rows.ts';

/** The user on whose behalf work is done, and the signal that aborts it. */
export interface WorkScope {
  readonly userId: string;
  readonly clientId: string;
  readonly signal: AbortSignal;
}

/** Runs a transaction of the work. Rejects if the work was aborted, or if another user has signed in since it began. */
export function transactIn<T>(
  replica: Replica,
  scope: WorkScope,
  decide: (tx: Transaction) => T,
  options?: TransactOptions,
): Promise<T> {
  return replica.transact((tx) => {
    const session = tx.get('facts', ['', 'session']) as unknown as SessionRow | undefined;
    // A user who is given the login of another one has other devices.
    if (scope.signal.aborted || session?.userId !== scope.userId || session.clientId !== scope.clientId)
      throw clientError('aborted', 'the caller cancelled the request');
    return decide(tx);
  }, options);
}
