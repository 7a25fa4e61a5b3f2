import { expect, it } from 'vitest';
import { checkState } from './readiness.ts';

it('[CONSOLE-82] a warning of the server is shown as a warning, never as ok', () => {
  const states = [
    checkState({ name: 'store', ok: true }),
    checkState({ name: 'warning', ok: true }),
    checkState({ name: 'disk', ok: false }),
  ];
  expect(states).toEqual(['ok', 'warning', 'fails']);
});
