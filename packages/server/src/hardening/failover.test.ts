import { Caller, startValkeySentinel } from '@tidemark/testing';
import { startTestServer, testConfig } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';

const ASKED_MAX = 1_000;
const PASSWORD = 'barnacle';
const CONFIRMED = { ...testConfig('').valkey, confirmReplicas: 1, sentinelPassword: PASSWORD };

it('[VALKEY-19] [VALKEY-22] [VALKEY-24] during a failover by sentinel callers get 503 with Retry-After, and afterwards all acknowledged data is there', async () => {
  const sentinel = await startValkeySentinel(2, { password: PASSWORD });
  onTestFinished(() => sentinel.remove());
  const server = await startTestServer({ store: sentinel.address, valkey: CONFIRMED });
  onTestFinished(() => server.close());
  const caller = new Caller(server.url, server.token);
  onTestFinished(() => caller.close());
  await caller.post('/rc/v1/sources', { name: 'Product', partition_type: 'app' });
  const push = (id: number) => caller.post('/app/v1/Product/push_objects', { objects: { [id]: { a: 1 } } });
  const answered: string[] = [];
  for (let id = 0; id < 10; id++) if ((await push(id)).status === 200) answered.push(String(id));
  expect(answered.length).toBe(10);

  await sentinel.primary.kill();
  const refused = await push(100);
  expect([refused.status, refused.code, refused.headers['retry-after']]).toEqual([503, 'store_unavailable', '1']);
  for (let id = 101; id < ASKED_MAX && answered.length === 10; id++) {
    const { status, code } = await push(id);
    if (status === 200) answered.push(String(id));
    else expect([status, code]).toEqual([503, 'store_unavailable']);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(answered.length).toBe(11);
  // The server reconnects once more when the sentinel announces the new primary.
  const md = await untilServed(caller, '/rc/v1/users/*/sources/Product/docs/md');
  expect(Object.keys(md.body as object)).toEqual(expect.arrayContaining(answered));
  expect((await untilServed(caller, '/readyz')).status).toBe(200);
});

async function untilServed(caller: Caller, path: string) {
  for (let asked = 0; asked < ASKED_MAX; asked++) {
    const answer = await caller.get(path);
    if (answer.status !== 503) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${path} was never served again`);
}
