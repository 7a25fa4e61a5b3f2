/** The last moment that ISO 8601 writes with a year of four digits. */
export const TIME_MS_MAX = 253_402_300_799_999;

/** A moment as answers write it. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}

const TIME_UNITS = 9;
const TIME_MAX = 36 ** TIME_UNITS - 1;

/** Entries are listed in the order of their keys, and the newest is wanted first: so time runs backwards here. */
export function newestFirstKey(atMs: number): string {
  return (TIME_MAX - atMs).toString(36).padStart(TIME_UNITS, '0');
}
