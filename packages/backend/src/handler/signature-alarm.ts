import type { SignatureProblem } from './verify-signature.ts';

/** The same problem is reported again after this time, so that callers cannot flood the log. */
const QUIET_MS = 60_000;

const DETAILS = {
  signature_missing: 'the headers webhook-id, webhook-timestamp and webhook-signature are needed',
  signature_invalid: 'no signature was made with a secret of this backend',
  timestamp_out_of_range: 'the clocks differ too much, or the call is old',
} as const satisfies Record<SignatureProblem, string>;

/** What each problem means for the operator of the backend. */
const HINTS = {
  signature_missing: 'the call does not come from Tidemark, or a proxy removes headers',
  signature_invalid:
    'compare `secret` of createHandler with what `tidemark appserver secret` shows; a proxy that changes the body has the same effect',
  timestamp_out_of_range: 'compare the clocks of both machines',
} as const satisfies Record<SignatureProblem, string>;

/** A call whose signature this backend does not accept, as it is reported to `onError`. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';
  readonly code: SignatureProblem;

  constructor(code: SignatureProblem, more: number) {
    const others = more === 0 ? '' : ` (and ${more} more of the same since the last report)`;
    super(`a call was refused with ${code}: ${DETAILS[code]}; ${HINTS[code]}${others}`);
    this.code = code;
  }
}

export function signatureDetail(problem: SignatureProblem): string {
  return DETAILS[problem];
}

/** Decides which refused calls are reported: the first of each problem, and then at most one a minute. */
export class SignatureAlarm {
  readonly #reported = new Map<SignatureProblem, { readonly atMs: number; more: number }>();

  /** Returns null when the call is not reported. */
  report(problem: SignatureProblem, nowMs: number): SignatureError | null {
    const last = this.#reported.get(problem);
    if (last !== undefined && nowMs - last.atMs < QUIET_MS) {
      last.more++;
      return null;
    }
    this.#reported.set(problem, { atMs: nowMs, more: 0 });
    return new SignatureError(problem, last?.more ?? 0);
  }
}
