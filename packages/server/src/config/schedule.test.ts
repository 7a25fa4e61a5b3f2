import { expect, it } from 'vitest';
import { nextTime, parseSchedule } from './schedule.ts';

function next(text: string, after: string): string | null {
  const schedule = parseSchedule(text);
  return schedule && new Date(nextTime(schedule, Date.parse(after))).toISOString();
}

it('[CONFIG-40] a schedule names the next time after a moment, in UTC', () => {
  // The last day of January 2030 was a Thursday.
  const now = '2030-01-31T12:30:00.000Z';
  expect(next('hourly', now)).toBe('2030-01-31T13:00:00.000Z');
  expect(next('daily 03:00', now)).toBe('2030-02-01T03:00:00.000Z');
  expect(next('daily 12:31', now)).toBe('2030-01-31T12:31:00.000Z');
  expect(next('daily 12:30', now)).toBe('2030-02-01T12:30:00.000Z');
  expect(next('weekly sunday 03:00', now)).toBe('2030-02-03T03:00:00.000Z');
  expect(next('weekly thursday 12:31', now)).toBe('2030-01-31T12:31:00.000Z');
  expect(next('weekly wednesday 23:59', now)).toBe('2030-02-06T23:59:00.000Z');
});

it.each([
  '',
  'daily',
  'daily 24:00',
  'daily 3:00',
  'weekly 03:00',
  'weekly someday 03:00',
  'daily monday 03:00',
  'Hourly',
])('[CONFIG-40] %j is no schedule', (text) => {
  expect(parseSchedule(text)).toBeNull();
});
