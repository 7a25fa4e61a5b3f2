import { expect, it } from 'vitest';
import { limitText } from './bytes-text.ts';

it('[CONSOLE-158] a limit is shown in the units of the settings, with every byte that they say', () => {
  const GIB = 2 ** 30;
  expect([GIB, 10 * GIB, 1_536 * 2 ** 20, 200, 5_000_000].map(limitText)).toEqual([
    '1 GiB',
    '10 GiB',
    '1,536 MiB',
    '200 bytes',
    '5,000,000 bytes',
  ]);
});
