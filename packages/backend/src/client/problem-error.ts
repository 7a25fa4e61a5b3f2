import { type Flaw, type Problem, parseJson } from '@tidemark/protocol';
import { retryAfterMs } from './retry-after-ms.ts';
import { TidemarkError } from './tidemark-error.ts';

/** A proxy in between may answer with a whole page. */
const TOLD_UNITS_MAX = 300;

/** What an answer other than 200 says, whoever gave it. */
export function problemError(response: Response, text: string, nowMs: number): TidemarkError {
  const { status, statusText, headers } = response;
  const problem = problemIn(headers.get('content-type') ?? '', text);
  const plain = text.trim().slice(0, TOLD_UNITS_MAX);
  // The specification allows an empty body; then the status is all there is.
  const detail = problem.detail ?? problem.title ?? (plain || `the server answered ${status} ${statusText}`.trim());
  return new TidemarkError((problem.code as TidemarkError['code'] | undefined) ?? `http_${status}`, detail, {
    status,
    request_id: problem.request_id ?? headers.get('x-request-id'),
    errors: (problem.errors ?? []) as readonly Flaw[],
    hint: problem.hint ?? redirectHint(response),
    retryAfterMs: retryAfterMs(headers.get('retry-after'), nowMs),
  });
}

function problemIn(contentType: string, text: string): Partial<Problem> {
  if (!/\bjson\b/.test(contentType)) return {};
  try {
    const value: unknown = parseJson(text);
    return typeof value === 'object' && value !== null ? (value as Partial<Problem>) : {};
  } catch {
    return {};
  }
}

/** Redirects are not followed, since that would carry the token to somebody else. */
function redirectHint({ status, headers }: Response): string | null {
  if (status < 300 || status >= 400) return null;
  return `the server points to ${headers.get('location')}; if that is right, use it as url`;
}
