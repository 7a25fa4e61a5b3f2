import { expect, it } from 'vitest';
import { HISTORIES_TIMEOUT_MS, testHistories } from './simulate.ts';

it('[SIM-12] [SIM-1] [SIM-2] [SIM-3] [SIM-4] [SIM-5] [SIM-6] [SIM-7] [SIM-8] [SIM-9] [SIM-13] histories that once failed, and random ones, pass on one Valkey', {
  timeout: HISTORIES_TIMEOUT_MS,
}, async () => {
  const { ran, planned } = await testHistories('valkey', { everyday: 5, long: 2_000, firstSeed: 1 });
  expect(ran).toBe(planned);
});
