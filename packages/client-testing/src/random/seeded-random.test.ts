import { expect, it } from 'vitest';
import { Rng } from './rng.ts';
import { seededRandom } from './seeded-random.ts';

it('the same seed gives the same bytes, another one gives others', () => {
  const bytes = seededRandom(7).bytes(64);
  expect(seededRandom(7).bytes(64)).toEqual(bytes);
  expect(seededRandom(8).bytes(64)).not.toEqual(bytes);
  const random = seededRandom(7);
  expect([...random.bytes(20), ...random.bytes(44)]).toEqual([...bytes]);
});

it('bytes and rng are even enough for a test', () => {
  const counts = new Map<number, number>();
  for (const byte of seededRandom(1).bytes(256 * 100)) counts.set(byte, (counts.get(byte) ?? 0) + 1);
  expect(counts.size).toBe(256);
  expect(Math.min(...counts.values())).toBeGreaterThan(50);
  expect(Math.max(...counts.values())).toBeLessThan(160);
  const rng = new Rng(seededRandom(2));
  const rolls = Array.from({ length: 6_000 }, () => rng.between(1, 6));
  expect(new Set(rolls)).toEqual(new Set([1, 2, 3, 4, 5, 6]));
  expect(rolls.filter((roll) => roll === 6).length).toBeGreaterThan(800);
});

it('shuffling keeps every item, picking takes one of them', () => {
  const rng = new Rng(seededRandom(3));
  const items = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  const shuffled = rng.shuffle(items);
  expect([...shuffled].sort()).toEqual(items);
  expect(shuffled).not.toEqual(items);
  expect(items).toContain(rng.pick(items));
  expect(() => rng.pick([])).toThrow('nothing to pick');
});
