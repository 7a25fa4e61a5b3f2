import { expect, it } from 'vitest';
import { heightsOf, isLevel, seriesWords } from './chart-series.ts';

const step = (at: number, count: number, sum: number, max: number) => ({ at, count, sum, min: 0, max });

it('[CONSOLE-143] a chart of users or devices shows how many there are, and no durations', () => {
  const levels = ['clients', 'users', 'listeners', 'valkey_memory_bytes', 'devices_seen:1d', 'queues:uploads:depth'];
  const names = [...levels, 'http:POST:/sync/v1/pull', 'queues:uploads:done'];
  expect(names.filter(isLevel)).toEqual(levels);
  const shown = [step(0, 1, 200, 200), step(60, 1, 301, 301)];
  expect(heightsOf(shown, { isLevel: true, startS: 0, widthS: 60 }).slice(0, 3)).toEqual([200, 301, 0]);
  expect(heightsOf(shown, { isLevel: true, startS: 0, widthS: 120 }).slice(0, 2)).toEqual([301, 0]);
  expect(seriesWords(true, { shown, before: null, range: 'hour' })).toBe(
    '301 now; 250.5 on average and 301 at most in the last hour',
  );
  expect(seriesWords(true, { shown, before: [step(-60, 1, 501, 501)], range: 'hour' })).toBe(
    '301 now, 50 % less than in the range before; 250.5 on average and 301 at most in the last hour',
  );
});

it('[CONSOLE-144] a chart of requests counts them, and says how long they took', () => {
  const shown = [step(0, 3, 30, 20), step(60, 1, 10, 10)];
  expect(heightsOf(shown, { isLevel: false, startS: 0, widthS: 120 }).slice(0, 2)).toEqual([4, 0]);
  expect(seriesWords(false, { shown, before: null, range: 'hour' })).toBe(
    '4 in the last hour; 10 ms on average, 20 ms at most',
  );
  expect(seriesWords(false, { shown, before: [], range: '24 hours' })).toBe(
    '4 in the last 24 hours, none in the range before; 10 ms on average, 20 ms at most',
  );
  expect(seriesWords(false, { shown: [], before: [], range: 'hour' })).toBe('none in the last hour');
});
