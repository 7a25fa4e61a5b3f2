const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** 1 January 1970 was a Thursday; the first Sunday after it was this many days later. */
const FIRST_SUNDAY_DAYS = 3;

/** A time that comes again: every `everyMs`, `offsetMs` after the epoch of Unix time. */
export interface Schedule {
  /** As it was written. */
  readonly text: string;
  readonly everyMs: number;
  readonly offsetMs: number;
}

/** Reads a schedule: `hourly`, `daily 03:00` or `weekly sunday 03:00`, in UTC. Null: it is none. */
export function parseSchedule(text: string): Schedule | null {
  if (text === 'hourly') return { text, everyMs: HOUR_MS, offsetMs: 0 };
  const [, often, day, hours, minutes] =
    /^(daily|weekly) (?:([a-z]+) )?([01][0-9]|2[0-3]):([0-5][0-9])$/.exec(text) ?? [];
  const timeMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
  if (often === 'daily' && day === undefined) return { text, everyMs: DAY_MS, offsetMs: timeMs };
  const weekday = DAYS.indexOf(day ?? '');
  if (often !== 'weekly' || weekday === -1) return null;
  return { text, everyMs: WEEK_MS, offsetMs: (FIRST_SUNDAY_DAYS + weekday) * DAY_MS + timeMs };
}

/** Returns the first time of the schedule after a moment. */
export function nextTime({ everyMs, offsetMs }: Schedule, afterMs: number): number {
  return (Math.floor((afterMs - offsetMs) / everyMs) + 1) * everyMs + offsetMs;
}
