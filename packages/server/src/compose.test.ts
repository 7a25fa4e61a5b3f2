import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { compose } from './compose.ts';

const CONFIG = { host: '127.0.0.1', port: 0, shutdownGraceMs: 10_000 };

it('names the address it really has', async () => {
  const running = await compose(CONFIG);
  expect(running.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9][0-9]*$/);
  expect((await fetch(`${running.url}/healthz`)).status).toBe(200);
  await running.close();
  await expect(fetch(`${running.url}/healthz`)).rejects.toThrow();
});

it('a connection that is kept alive does not hold up the end', async () => {
  const running = await compose(CONFIG);
  await (await fetch(`${running.url}/healthz`)).text();
  const started = performance.now();
  await running.close();
  expect(performance.now() - started).toBeLessThan(5_000);
});

it('a request that never ends is cut off after the grace', async () => {
  const running = await compose({ ...CONFIG, shutdownGraceMs: 50 });
  const socket = connect(Number(new URL(running.url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write('POST /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n');
  await once(socket, 'connect');
  const cutOff = once(socket, 'close');
  await running.close();
  await cutOff;
});
