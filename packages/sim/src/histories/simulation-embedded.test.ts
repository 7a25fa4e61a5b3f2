import { expect, it } from 'vitest';
import { HISTORIES_TIMEOUT_MS, tryHistories } from './try-histories.ts';

it('[SIM-12] [SIM-1] [SIM-2] [SIM-3] [SIM-4] [SIM-5] [SIM-6] [SIM-7] [SIM-8] [SIM-9] histories that once found something, and random ones, hold on the embedded engine', {
  timeout: HISTORIES_TIMEOUT_MS,
}, async () => {
  const { ran, due } = await tryHistories('embedded', { everyday: 100, long: 1_000, firstSeed: 1 });
  expect(ran).toBe(due);
});
