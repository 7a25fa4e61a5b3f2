import { expect, it } from 'vitest';
import { drawHistory } from './draw-history.ts';
import { runHistory } from './run-history.ts';
import { VirtualStage } from './virtual-stage.ts';

const HISTORIES = 10;
const STEPS_MAX = 60;

it('[SDK-12] devices on a bad network converge, and each upload is applied exactly once', async () => {
  for (let seed = 1; seed <= HISTORIES; seed++) await runHistory(drawHistory(seed, STEPS_MAX), VirtualStage.make);
  expect.assertions(0);
});
