import { Refusal } from '@tidemark/protocol';

/** The store is not set up the way it must be. */
export class UnusableServer extends Error {
  override readonly name = 'UnusableServer';
}

/** Long enough for a failover or a restart to be noticed, short enough for nobody to mind. */
const RETRY_AFTER_S = 1;

/** What the server says when it cannot serve now, though nothing is wrong with what was asked. */
const UNAVAILABLE = new Set([
  ...['LOADING', 'BUSY', 'MASTERDOWN', 'READONLY', 'NOREPLICAS', 'MISCONF', 'TRYAGAIN', 'CLUSTERDOWN', 'MOVED', 'ASK'],
  ...['NOAUTH', 'WRONGPASS', 'NOPERM', 'UNBLOCKED', 'NOTREADY'],
]);

/**
 * What to tell a caller. Bugs stay what they are; whatever kept the server from answering is a refusal, which says
 * nothing of where the server is.
 */
export function failureOf(error: unknown): Error {
  if (error instanceof Refusal) return error;
  if (!(error instanceof Error)) return unavailable('it cannot be reached');
  const { message } = error;
  if (error.name !== 'ReplyError') {
    return unavailable(message.includes('timed out') ? 'it did not answer in time' : 'it cannot be reached');
  }
  const code = codeOf(message);
  if (code === 'OOM') return new Refusal('store_full', 'the store has no memory left for writes', [], RETRY_AFTER_S);
  return UNAVAILABLE.has(code) ? unavailable(`it answered ${code}`) : error;
}

export function unavailable(reason: string): Refusal {
  return new Refusal('store_unavailable', `the store does not serve: ${reason}`, [], RETRY_AFTER_S);
}

/** Nothing is written to a store that was moved, or is being filled. */
export function sealed(): Refusal {
  return unavailable('its data was moved elsewhere');
}

/** Errors inside a script are told with the script's own prefix, or with the code of the command in it. */
function codeOf(message: string): string {
  return /^(?:ERR (?:Error running script|user_script)[^A-Z]*)?([A-Z]+)\b/.exec(message)?.[1] ?? '';
}
