import { Caller, startValkey, type ValkeyServer } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterEach, beforeEach, expect, it } from 'vitest';

let valkey: ValkeyServer;
let server: TestServer;
let caller: Caller;

beforeEach(async () => {
  valkey = await startValkey();
  server = await startTestServer({ store: valkey.address });
  caller = new Caller(server.url, server.token);
  await caller.post('/rc/v1/sources', { name: 'Product', partition_type: 'app' });
});

afterEach(async () => {
  caller.close();
  await valkey.restart().catch(() => undefined);
  await server.close();
  await valkey.remove();
});

const push = (id: string) => caller.post('/app/v1/Product/push_objects', { objects: { [id]: { a: 1 } } });
const md = async () => Object.keys((await caller.get('/rc/v1/users/*/sources/Product/docs/md')).body as object);

/** Repeats the request until the store is back; until then every answer must be the same refusal. */
async function untilServed<T extends { readonly status: number; readonly code: string | null }>(
  ask: () => Promise<T>,
): Promise<T> {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const answer = await ask();
    if (answer.code !== 'store_unavailable') return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('the store was never found again');
}

it('[VALKEY-19] while the store is away requests get 503 store_unavailable with Retry-After, and nothing else', async () => {
  expect((await push('1')).status).toBe(200);
  await valkey.kill();
  for (const answer of [await push('2'), await caller.get('/rc/v1/users'), await caller.get('/rc/v1/clients/x')]) {
    expect([answer.status, answer.code, answer.headers['retry-after']]).toEqual([503, 'store_unavailable', '1']);
    expect(answer.text).not.toMatch(/127\.0\.0\.1|ECONN|ioredis|redis/i);
  }
  expect((await caller.get('/healthz')).status).toBe(200);
  expect((await caller.get('/readyz')).status).toBe(503);
  await valkey.restart();
  expect((await untilServed(() => push('3'))).status).toBe(200);
  expect(await md()).toEqual(['1', '3']);
  expect((await caller.get('/readyz')).status).toBe(200);
});

it('[VALKEY-19] while the store hangs requests get 503 store_unavailable, and they work again when it does', async () => {
  process.kill(valkey.pid, 'SIGSTOP');
  const answers = await Promise.all([push('1'), push('2'), caller.get('/rc/v1/users')]);
  expect(answers.map(({ code }) => code)).toEqual(Array.from({ length: 3 }, () => 'store_unavailable'));
  process.kill(valkey.pid, 'SIGCONT');
  expect((await untilServed(() => push('3'))).status).toBe(200);
  expect(await md()).toContain('3');
});

it('[VALKEY-19] a store without memory gives 507 store_full, and reads still work', async () => {
  await push('1');
  await valkey.call('CONFIG', 'SET', 'maxmemory', 1);
  const { status, code } = await push('2');
  expect([status, code]).toEqual([507, 'store_full']);
  expect(await md()).toEqual(['1']);
});

it('[VALKEY-19] /readyz shows how durable acknowledged writes are', async () => {
  const { body } = await caller.get('/readyz');
  const { durability, checks } = body as { durability: string; checks: { name: string; detail: string }[] };
  expect(durability).toBe('durable');
  expect(checks.find(({ name }) => name === 'engine')?.detail).toMatch(/appendonly true, appendfsync always/);
  expect(checks.find(({ name }) => name === 'warning')?.detail).toMatch(/maxmemory is not set/);
});
