import { type PullAnswer, readToken } from '@tidemark/core';
import { newTidemark, refusalOf, startValkeySentinel, untilServed } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openValkeyStore, type ValkeyOptions } from './valkey-store.ts';

interface Page {
  readonly token: string;
  readonly reset?: boolean;
  readonly put?: Readonly<Record<string, unknown>>;
}

async function start(replicas: number, options: Partial<ValkeyOptions> = {}) {
  const sentinel = await startValkeySentinel(replicas);
  onTestFinished(() => sentinel.remove());
  const store = await openValkeyStore({ address: sentinel.address, ...options });
  onTestFinished(() => store.close());
  const { tidemark } = await newTidemark({ store });
  const push = (objects: object) => tidemark.pushObjects({ source: 'Product', objects });
  const pull = async (client: string, token: string | null): Promise<Page> => {
    const answer: PullAnswer = await tidemark.pull({ source: 'Product', user_id: 'ada', client, token });
    await answer.noted;
    return JSON.parse(answer.json) as Page;
  };
  return { sentinel, tidemark, push, pull };
}

describe('a primary under a sentinel', () => {
  it('[VALKEY-22] that dies is followed by one with all that replicas had confirmed, and devices go on', async () => {
    const { sentinel, push, pull } = await start(2, { confirmReplicas: 1 });
    await push({ 1: { a: 1 } });
    const { token } = await pull('phone', null);
    for (let id = 2; id <= 20; id++) await push({ [id]: { a: 1 } });
    await sentinel.primary.kill();
    expect(await refusalOf(push({ lost: { a: 1 } }))).toBe('store_unavailable');
    await untilServed(() => push({ 21: { a: 1 } }));
    expect(await sentinel.primaryPort()).not.toBe(sentinel.primary.port);
    const { reset, put = {} } = await pull('phone', token);
    const ids = Object.keys(put).filter((id) => id !== 'lost');
    expect([reset, ids]).toEqual([undefined, Array.from({ length: 20 }, (_, index) => String(index + 2))]);
  });

  it('[VALKEY-22] that hangs is left for the one that was promoted', async () => {
    const { sentinel, push, tidemark } = await start(1);
    await push({ 1: { a: 1 } });
    await sentinel.catchUp();
    process.kill(sentinel.primary.pid, 'SIGSTOP');
    expect(await refusalOf(push({ lost: { a: 1 } }))).toBe('store_unavailable');
    await untilServed(() => push({ 2: { a: 1 } }));
    expect([...(await tidemark.readObjects({ source: 'Product' })).keys()]).toEqual(['1', '2']);
  });

  it('[VALKEY-5] that is followed by a replica behind it: devices that saw what is lost start over, others go on', async () => {
    const { sentinel, push, pull } = await start(1);
    await push({ 1: { a: 1 } });
    const early = await pull('early', null);
    await sentinel.catchUp();
    await sentinel.cutOff();
    await push({ 2: { a: 1 } });
    const late = await pull('late', null);
    await sentinel.primary.kill();
    // The lost seq is given to another change, and the head passes what the late device has seen.
    await untilServed(() => push({ 3: { a: 1 }, 4: { a: 1 } }));
    expect(readToken(late.token)?.seq).toBe(2);

    const goesOn = await pull('early', early.token);
    expect([goesOn.reset, Object.keys(goesOn.put ?? {})]).toEqual([undefined, ['3', '4']]);
    const startsOver = await pull('late', late.token);
    expect([startsOver.reset, Object.keys(startsOver.put ?? {})]).toEqual([true, ['1', '3', '4']]);
  });

  it('[VALKEY-14] is not spoken to in the clear where the address asks for TLS', async () => {
    const sentinel = await startValkeySentinel(1);
    onTestFinished(() => sentinel.remove());
    await expect(opened(sentinel.address.replace('valkey+', 'valkeys+'))).rejects.toThrow(/cannot be used/);
  });

  it('[VALKEY-2] is refused at start where no sentinel knows it', async () => {
    const sentinel = await startValkeySentinel(1);
    onTestFinished(() => sentinel.remove());
    await expect(opened(sentinel.address.replace('/tide', '/ebb'))).rejects.toThrow(/cannot be used/);
    await sentinel.stopSentinel();
    await expect(opened(sentinel.address)).rejects.toThrow(/cannot be used/);
  });

  it('[VALKEY-22] is found again though its sentinels were away as well', async () => {
    const { sentinel, push } = await start(1);
    await push({ 1: { a: 1 } });
    await sentinel.stopSentinel();
    await sentinel.primary.kill();
    expect(await refusalOf(push({ 2: { a: 1 } }))).toBe('store_unavailable');
    await sentinel.primary.restart();
    await sentinel.startSentinel();
    await untilServed(() => push({ 3: { a: 1 } }));
  });
});

/** One that is opened though it should not is closed, so that nothing is left of a test that fails. */
async function opened(address: string): Promise<void> {
  const store = await openValkeyStore({ address });
  await store.close();
}
