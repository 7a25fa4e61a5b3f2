import { type Flaw, REFUSALS, type Refusal, type RefusalCode } from '@tidemark/protocol';

/** A problem as in RFC 9457, the form of all refusals. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: RefusalCode;
  readonly hint?: string;
  readonly request_id: string;
  readonly errors?: readonly Flaw[];
}

/** Advice that follows from the code alone. */
const HINTS: Partial<Record<RefusalCode, string>> = {
  not_found: 'check the path for typing errors, and for a prefix that a proxy added or removed',
  method_not_allowed: 'use one of the methods in the Allow header',
  token_missing: 'log in at POST /rc/v1/system/login and send the token as X-Sync-API-TOKEN or Authorization: Bearer',
  token_invalid: 'log in again',
  unsupported_media_type: 'send uncompressed JSON with Content-Type: application/json',
  internal: 'report it, with the lines the log has under this request_id',
};

export function problemOf(refusal: Refusal, requestId: string): Problem {
  const hint = HINTS[refusal.code];
  return {
    type: `urn:tidemark:problem:${refusal.code}`,
    title: REFUSALS[refusal.code].title,
    status: refusal.status,
    detail: refusal.message,
    code: refusal.code,
    ...(hint === undefined ? {} : { hint }),
    request_id: requestId,
    ...(refusal.flaws.length === 0 ? {} : { errors: refusal.flaws }),
  };
}
