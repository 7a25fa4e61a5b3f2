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

it('[CONSOLE-93] a name that is asked for while others are read is read after them', async () => {
  let later: Promise<string | null> | undefined;
  const names: NameBatcher<string> = new NameBatcher(async (ids) => {
    if (ids.includes('a')) later = names.find('b');
    return new Map(ids.map((id) => [id, id.toUpperCase()]));
  }, 2);
  expect(await names.find('a')).toBe('A');
  // A name that is never read would be waited for in vain.
  expect(await Promise.race([later, names.find('c').then(() => 'never')])).toBe('B');
});
