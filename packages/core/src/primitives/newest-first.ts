const TIME_UNITS = 9;
const TIME_MAX = 36 ** TIME_UNITS - 1;

/** Entries are listed in the order of their keys, and the newest is wanted first: so time runs backwards here. */
export function newestFirstKey(atMs: number): string {
  return (TIME_MAX - atMs).toString(36).padStart(TIME_UNITS, '0');
}
