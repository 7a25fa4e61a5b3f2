import { STORE_DOWN } from '@tidemark/core/ports';
import { Refusal } from '@tidemark/protocol';

/** The server cannot be used with its current settings, version or data. */
export class UnusableServer extends Error {
  override readonly name = 'UnusableServer';
}

/** A failover or a restart takes about this long. */
const RETRY_AFTER_S = 1;

/** Error codes of a server that cannot run any command now. */
const UNAVAILABLE = new Set([
  ...['LOADING', 'BUSY', 'MASTERDOWN', 'READONLY', 'NOREPLICAS', 'MISCONF', 'TRYAGAIN', 'CLUSTERDOWN', 'MOVED', 'ASK'],
  ...['NOAUTH', 'WRONGPASS', 'NOPERM', 'UNBLOCKED', 'NOTREADY'],
]);

/**
 * Converts an error of ioredis to the error for the caller. An error that kept the server from replying becomes a refusal,
 * which does not contain the server's address. Any other error is a bug and stays as it is.
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
  return new Refusal('store_unavailable', `${STORE_DOWN}: ${reason}`, [], RETRY_AFTER_S);
}

/** The error for writes to a store that was moved, or that is the target of a migration. */
export function readOnly(): Refusal {
  return unavailable('its data was moved elsewhere');
}

/** The server puts a prefix in front of the code of a command that failed inside a script. */
function codeOf(message: string): string {
  return /^(?:ERR (?:Error running script|user_script)[^A-Z]*)?([A-Z]+)\b/.exec(message)?.[1] ?? '';
}
