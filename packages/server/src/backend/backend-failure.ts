import { Refusal } from '@tidemark/protocol';
import { BlockedAddress } from '../outbound/checked-lookup.ts';

/** How long whoever finds the backend gone is told to wait. */
const RETRY_AFTER_S = 5;
/** Codes of the system that mean that nobody is there. */
const NOBODY_THERE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
]);

/** What broke, in words that name neither the address nor what was said. */
export function failureOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof BlockedAddress) {
    return new Refusal('backend_error', 'the address of the backend is one that is never called');
  }
  const code = codeOf(error);
  if (NOBODY_THERE.has(code)) return unavailable(`nobody answers at the address of the backend (${code})`);
  return new Refusal('backend_error', `the connection to the backend broke (${code})`);
}

export function unavailable(detail: string, retryAfterS = RETRY_AFTER_S): Refusal {
  return new Refusal('backend_unavailable', detail, [], retryAfterS);
}

/** The code, never the message: that may contain the address. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unknown';
}
