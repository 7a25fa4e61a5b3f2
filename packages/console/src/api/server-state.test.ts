import { expect, it } from 'vitest';
import { ServerWatch } from './server-state.ts';

it('[CONSOLE-81] a server is gone when a call has no answer or a proxy says so, and back with the next answer', () => {
  const watch = new ServerWatch();
  const heard: boolean[] = [];
  const unsubscribe = watch.subscribe(() => heard.push(watch.state.isGone));
  watch.answered(200, 1);
  watch.answered(503, 2);
  expect(watch.state).toEqual({ isGone: false, answeredAtMs: 2 });
  watch.failed();
  const gone = watch.state;
  watch.answered(502, 4);
  watch.failed();
  expect(watch.state).toEqual({ isGone: true, answeredAtMs: 2 });
  expect(watch.state).toBe(gone);
  watch.answered(401, 6);
  unsubscribe();
  watch.failed();
  expect([heard, watch.state.answeredAtMs]).toEqual([[true, false], 6]);
});
