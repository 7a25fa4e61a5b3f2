import { expect, it } from 'vitest';
import { Lag } from './lag.ts';

it('[PG-208] lag is how long a heartbeat takes, or how long one has been on its way', () => {
  const lag = new Lag();
  lag.sent(1_000);
  expect(lag.at(1_500)).toEqual({ lagMs: null, freshAtMs: null });
  lag.arrived(1_040, 40);
  expect(lag.at(9_000)).toEqual({ lagMs: 40, freshAtMs: 1_000 });
  lag.sent(11_000);
  lag.sent(21_000);
  expect(lag.at(31_000)).toEqual({ lagMs: 20_000, freshAtMs: 1_000 });
  // The first one was never written, or is overtaken: whatever was committed before the second is there.
  lag.arrived(32_000, 11_000);
  expect(lag.at(32_000)).toEqual({ lagMs: 11_000, freshAtMs: 21_000 });
});

it('[PG-208] after an interruption the lag is not known until a heartbeat of the new connection arrives', () => {
  const lag = new Lag();
  lag.sent(1_000);
  lag.arrived(1_040, 40);
  lag.interrupted();
  lag.sent(60_000);
  expect(lag.at(60_010)).toEqual({ lagMs: null, freshAtMs: 1_000 });
  lag.arrived(60_500, 500);
  expect(lag.at(60_500)).toEqual({ lagMs: 500, freshAtMs: 60_000 });
});
