import { expect, it } from 'vitest';
import { axisMax, axisTimes, stepWords, timeWords } from './axis.ts';

it('[CONSOLE-73] the scale of a chart ends at a round number whose half is whole', () => {
  expect([0, 1, 2, 3, 4, 5, 10, 11, 20, 39, 41, 100, 101, 9_999].map(axisMax)).toEqual([
    ...[2, 2, 2, 4, 4, 10, 10, 20, 20, 40, 100, 100, 200, 10_000],
  ]);
});

it('[CONSOLE-73] the times of a chart name the day where it is longer than one', () => {
  const atS = (day: number, hour: number) => new Date(2030, 0, day, hour).getTime() / 1_000;
  expect(axisTimes(atS(31, 12), atS(31, 14))).toEqual(['12:00', '13:00', '14:00']);
  expect(axisTimes(atS(21, 12), atS(25, 12))).toEqual(['Mon 12:00', 'Wed 12:00', 'Fri 12:00']);
  expect(timeWords(atS(31, 0), false)).toBe('00:00');
});

it('[CONSOLE-73] the words say how long a bar is', () => {
  expect([60, 1_440, 10_080].map(stepWords)).toEqual(['minute', '24 minutes', '2.8 hours']);
});
