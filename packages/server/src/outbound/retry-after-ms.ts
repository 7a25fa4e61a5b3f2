/** Who asks for more is given this much: a day. */
const RETRY_AFTER_MS_MAX = 86_400_000;

/** What a `Retry-After` header asks for, in seconds or as a date; null when it asks for nothing that can be read. */
export function retryAfterMs(header: string | null, nowMs: number): number | null {
  const ms = askedMs(header?.trim() ?? '', nowMs);
  return Number.isNaN(ms) ? null : Math.min(Math.max(0, ms), RETRY_AFTER_MS_MAX);
}

/** The parser of dates reads almost anything as one, so only what looks like a date of HTTP is given to it. */
function askedMs(text: string, nowMs: number): number {
  if (/^[0-9]+$/.test(text)) return Number(text) * 1_000;
  return / GMT$/.test(text) ? Date.parse(text) - nowMs : Number.NaN;
}
