import { Refusal } from '@tidemark/protocol';
import { BlockedAddress } from '../outbound/checked-lookup.ts';

/** The Retry-After for callers while the backend cannot be reached. */
const RETRY_AFTER_S = 5;
/** System error codes that mean that the backend is not reachable. */
const UNREACHABLE_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
]);

/** Turns an error into a refusal that reveals neither the address nor the content of the call. */
export function failureOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof BlockedAddress) {
    return new Refusal('backend_error', 'the address of the backend is not allowed');
  }
  const code = codeOf(error);
  if (UNREACHABLE_CODES.has(code)) return unavailable(`the backend cannot be reached (${code})`);
  return new Refusal('backend_error', `the connection to the backend broke (${code})`);
}

export function unavailable(detail: string, retryAfterS = RETRY_AFTER_S): Refusal {
  return new Refusal('backend_unavailable', detail, [], retryAfterS);
}

/** Returns the code and never the message, which may contain the address. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unknown';
}
