/** A longer `Retry-After` counts as a day. */
const RETRY_AFTER_MS_MAX = 86_400_000;

/** Returns the wait a `Retry-After` header asks for, in seconds or as a date; null when the header cannot be read. */
export function retryAfterMs(header: string | null, nowMs: number): number | null {
  const ms = askedMs(header?.trim() ?? '', nowMs);
  return Number.isNaN(ms) ? null : Math.min(Math.max(0, ms), RETRY_AFTER_MS_MAX);
}

/** Only text that looks like an HTTP date is given to `Date.parse`, which reads almost anything as a date. */
function askedMs(text: string, nowMs: number): number {
  if (/^[0-9]+$/.test(text)) return Number(text) * 1_000;
  return / GMT$/.test(text) ? Date.parse(text) - nowMs : Number.NaN;
}
