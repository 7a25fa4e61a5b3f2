import type { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { SilenceWatch } from './silence-watch.ts';

/** A connection that notes what happens to it. */
class Connection {
  readonly calls: string[] = [];
  readonly stream = { bytesRead: 0, destroyed: false, destroy: () => this.calls.push('destroyed') };

  ping = async () => this.calls.push('ping');
}

it('[VALKEY-34] a connection that has delivered a byte since the last late reply is not given up, and one without is', () => {
  const [busy, silent] = [new Connection(), new Connection()];
  const watch = new SilenceWatch();
  const check = () => watch.check([busy, silent] as unknown as readonly Redis[], 0);
  check();
  expect([busy.calls, silent.calls]).toEqual([['ping'], ['ping']]);
  busy.stream.bytesRead++;
  check();
  expect([busy.calls, silent.calls]).toEqual([
    ['ping', 'ping'],
    ['ping', 'destroyed'],
  ]);
  check();
  expect(busy.calls).toEqual(['ping', 'ping', 'destroyed']);
});
