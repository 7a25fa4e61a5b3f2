import { AdapterRefusal } from '@tidemark/core';
import { BACKEND_DETAIL_UNITS_MAX, parseJson, Refusal, retryAfterMs } from '@tidemark/protocol';
import type { BackendCall } from './backend-contract.ts';
import type { Exchange } from './backend-http.ts';
import { parseObject, readBeginning } from './read-answer.ts';

const MS_PER_S = 1_000;
const DETAIL_BYTES_MAX = 16_384;
/** 4xx statuses that say nothing about the request itself, so that a retry may succeed. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([401, 408, 425, 429]);
/** Statuses of a backend that does not implement the call. */
const NOT_IMPLEMENTED_STATUSES: ReadonlySet<number> = new Set([404, 405, 501]);
/** Codes of a backend that rejects the signature. */
const SIGNATURE_CODE = /^(?:signature_missing|signature_invalid|timestamp_out_of_range)$/;

/** The backend answered 401 because it does not accept the signature. */
export class SignatureRefused extends Refusal {
  constructor() {
    super('backend_error', 'the backend does not accept the signature');
  }
}

export function isNoSuchCall(status: number): boolean {
  return NOT_IMPLEMENTED_STATUSES.has(status);
}

/**
 * Turns a status other than 2xx into a refusal, with the detail of the backend if it sent one. `detail` and `body`, the
 * beginning of the answer, are for operators; they are not cut, because secrets in them are still to be masked.
 */
export async function refusalOfAnswer(
  exchange: Exchange,
  call: BackendCall,
  nowMs: number,
): Promise<{ readonly error: Error; readonly detail: string | null; readonly body: string }> {
  const { status, headers } = exchange;
  if (status >= 300 && status < 400) {
    const error = new Refusal('backend_error', 'the backend redirects, which is not followed');
    return { error, detail: null, body: '' };
  }
  const body = await readBeginning(exchange, DETAIL_BYTES_MAX);
  const detail = detailOf(body);
  if (call === 'search' && isNoSuchCall(status)) {
    return { error: new Refusal('search_not_available', 'the backend does not support searches'), detail, body };
  }
  const what = `the backend answered ${status}`;
  if (status >= 400 && status < 500 && !RETRYABLE_STATUSES.has(status) && call !== 'query') {
    const reason = (detail ?? what).slice(0, BACKEND_DETAIL_UNITS_MAX).toWellFormed();
    return { error: new AdapterRefusal(status === 409 ? 'conflict' : 'rejected', reason), detail, body };
  }
  if (status === 401) return { error: new SignatureRefused(), detail, body };
  const asked = typeof headers['retry-after'] === 'string' ? headers['retry-after'] : null;
  const askedMs = retryAfterMs(asked, nowMs);
  const retryAfterS = askedMs === null ? null : Math.ceil(askedMs / MS_PER_S);
  return { error: new Refusal('backend_error', what, [], retryAfterS), detail, body };
}

/** True if the body of a 401 says that the signature was not accepted. */
export function isAboutSignature(text: string): boolean {
  try {
    const { code } = parseJson(text) as { readonly code?: unknown };
    return typeof code === 'string' && SIGNATURE_CODE.test(code);
  } catch {
    return false;
  }
}

/** Returns the reason that the backend gives. */
function detailOf(body: string): string | null {
  try {
    const { detail } = parseObject(body);
    if (typeof detail === 'string' && detail !== '') return detail;
  } catch {
    // The body is not a JSON object: the status alone is the refusal.
  }
  return null;
}
