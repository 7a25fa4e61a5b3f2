import { expect, it } from 'vitest';
import { joinSegments, lengthOf } from './segments.ts';

const segment = (offset: number, size: number) => ({ name: `${offset}+${size}`, offset, size });

it('[FILES-42] segments join up to the first gap', () => {
  const parts = joinSegments([segment(10, 5), segment(0, 10), segment(20, 5)]);
  expect(parts.map(({ segment: { name }, from, length }) => [name, from, length])).toEqual([
    ['0+10', 0, 10],
    ['10+5', 0, 5],
  ]);
  expect(lengthOf(parts)).toBe(15);
});

it('[FILES-42] segments that overlap count their common bytes once', () => {
  const parts = joinSegments([segment(0, 10), segment(8, 10), segment(0, 12)]);
  expect(parts.map(({ segment: { name }, from, length }) => [name, from, length])).toEqual([
    ['0+12', 0, 12],
    ['8+10', 4, 6],
  ]);
});

it('[FILES-42] an upload without a beginning has no bytes', () => {
  expect(joinSegments([segment(1, 100), segment(0, 0)])).toEqual([]);
});
