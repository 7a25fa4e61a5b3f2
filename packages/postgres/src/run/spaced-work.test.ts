import { expect, it } from 'vitest';
import { SpacedWork } from './spaced-work.ts';

it('[PG-359] a look at the catalogue that is slow is not taken again before as much time has passed', async () => {
  let now = 1_000;
  let looks = 0;
  const spaced = new SpacedWork();
  const look = (tookMs: number) =>
    spaced.run(
      () => now,
      async () => {
        looks++;
        now += tookMs;
      },
    );
  await look(300);
  now += 299;
  await look(300);
  expect(looks).toBe(1);
  now += 1;
  await look(0);
  await look(0);
  expect(looks).toBe(3);
});
