import { expect, it } from 'vitest';
import { runPhotos } from './photo-run.ts';

/** Few, for every day; `npm run sim -- photos` takes two hundred. */
const FILES = 5;
const SIZE = 1_000_000;
const CUT_AFTER_BYTES = 600_000;
/** The browser is killed when so many bytes have been sent. */
const KILLS = [1_200_000, 3_400_000];

it('[FILES-97] photos arrive bit for bit from a browser that is killed, over connections that are cut, and little is sent twice', async () => {
  const { wrong, kills, cuts, factor } = await runPhotos({
    files: FILES,
    size: SIZE,
    cutAfterBytes: CUT_AFTER_BYTES,
    untilKill: (round, sent) => sent.reach(KILLS[round] ?? Number.POSITIVE_INFINITY),
  });
  expect([wrong, kills]).toEqual([[], KILLS.length]);
  expect(cuts).toBeGreaterThan(0);
  // More than in a long run: requests are large until the first connection of a browser has broken.
  expect(factor).toBeLessThanOrEqual(1.25);
});
