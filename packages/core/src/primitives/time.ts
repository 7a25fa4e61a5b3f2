/** The last time that ISO 8601 writes with a four-digit year. */
export const TIME_MS_MAX = 253_402_300_799_999;

/** Returns the time as answers write it. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}

const TIME_UNITS = 9;
const TIME_MAX = 36 ** TIME_UNITS - 1;

/** Returns a key that sorts newer times first. */
export function newestFirstKey(atMs: number): string {
  return (TIME_MAX - atMs).toString(36).padStart(TIME_UNITS, '0');
}
