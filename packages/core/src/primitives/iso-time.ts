/** The last moment that ISO 8601 writes with a year of four digits. */
export const TIME_MS_MAX = 253_402_300_799_999;

/** A moment as answers write it. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}
