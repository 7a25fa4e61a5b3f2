/** What a `Retry-After` header asks for, in seconds or as a date; null when it asks for nothing that can be read. */
export function retryAfterMs(header: string | null, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  // The parser of dates reads almost anything as one, so only what looks like a date of HTTP is given to it.
  const ms = /^[0-9]{1,9}$/.test(text)
    ? Number(text) * 1_000
    : / GMT$/.test(text)
      ? Date.parse(text) - nowMs
      : Number.NaN;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
