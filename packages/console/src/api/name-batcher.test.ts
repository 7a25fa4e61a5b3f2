import { expect, it } from 'vitest';
import { NameBatcher } from './name-batcher.ts';

it('[CONSOLE-93] the names that are asked for in one turn are read by few calls, each id once', async () => {
  const calls: (readonly string[])[] = [];
  const names = new NameBatcher(async (ids) => {
    calls.push(ids);
    if (ids.includes('bad')) throw new Error('the server is gone');
    return new Map(ids.filter((id) => id !== 'unknown').map((id) => [id, id.toUpperCase()]));
  }, 2);
  expect(await Promise.all(['a', 'unknown', 'a', 'c'].map((id) => names.find(id)))).toEqual(['A', null, 'A', 'C']);
  expect(calls).toEqual([['a', 'unknown'], ['c']]);
  await expect(Promise.all([names.find('bad'), names.find('a')])).rejects.toThrow('the server is gone');
  expect(await names.find('a')).toBe('A');
});
