import { makeUser, openDevice, type TestDevice } from '@tidemark/testing';
import { startServerProcess } from '@tidemark/testing/kit';
import { logIn } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';

const BODY_BYTES = 9_300_000;
const DEVICES = 7;
const HEAP_MB = 512;

const repeated = (text: string) => `${text},`.repeat(BODY_BYTES / (text.length + 1) - 1) + text;
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
/** Each object has a name of its own, so that they share no hidden class. */
const distinct = () => Array.from({ length: BODY_BYTES / 13 }, (_, index) => `{"${index}":0}`).join(',');

const BODIES = {
  'empty objects': [repeated('{}'), 'body_too_large'],
  'objects with names of their own': [distinct(), 'body_too_large'],
  'lists nested 1,000 deep': [repeated(nested(1_000)), 'too_deep'],
  'lists nested 30 deep': [repeated(nested(30)), 'body_too_large'],
} as const;

it('[HARD-71] a server with a heap of 512 MB survives the costliest bodies of seven devices at once', async () => {
  const server = await startServerProcess({
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    // The bodies must be harmless themselves, also when no request is refused for the memory in use.
    TIDEMARK_OVERLOAD_HEAP_PERCENT_MAX: '100',
  });
  onTestFinished(async () => void (await server.stop()));
  const token = await logIn(server.url);
  const devices: TestDevice[] = [];
  for (let index = 0; index < DEVICES; index++) {
    await makeUser({ url: server.url, token }, `user ${index}`);
    devices.push(await openDevice(server, `user ${index}`));
  }
  onTestFinished(() => {
    for (const { api } of devices) api.close();
  });
  for (const [what, [items, code]] of Object.entries(BODIES)) {
    const replies = await Promise.all(
      devices.map(({ id, api }) => api.postText('/sync/v1/push', `{"client_id":"${id}","changes":[${items}]}`)),
    );
    expect([what, ...replies.map((reply) => reply.code)]).toEqual([what, ...devices.map(() => code)]);
  }
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  expect(server.isRunning).toBe(true);
});
