import { type AddressInfo, createServer, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { readToken } from '@tidemark/core';
import { newTidemark, pullPage, refusalOf, startValkeySentinel, untilServed } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openValkeyStore, type ValkeyOptions } from './open-store.ts';

interface Page {
  readonly token: string;
  readonly reset?: boolean;
  readonly put?: Readonly<Record<string, unknown>>;
}

/** A login that may only ask the sentinel for the primary. */
const SEEKER = { username: 'seeker', password: 'barnacle' };

async function start(replicas: number, options: Partial<ValkeyOptions> = {}) {
  const { sentinelLogin: username, sentinelPassword: password } = options;
  const login = { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) };
  const sentinel = await startValkeySentinel(replicas, login);
  onTestFinished(() => sentinel.remove());
  const store = await openValkeyStore({ address: sentinel.address, ...options });
  onTestFinished(() => store.close());
  const { tidemark } = await newTidemark({ store });
  for (const client of ['phone', 'early', 'late']) await tidemark.clients.register('ada', { client_id: client });
  const push = (objects: object) => tidemark.objects.push({ source: 'Product', objects });
  const pull = async (client: string, token: string | null): Promise<Page> => {
    // The store uses the promoted primary before the sentinel has announced it, then reconnects once more.
    const ask = () => pullPage(tidemark, { user: 'ada', client }, { source: 'Product', token });
    const { json, noted } = await untilServed(ask);
    await noted;
    return JSON.parse(json) as Page;
  };
  return { sentinel, tidemark, push, pull };
}

describe('a primary under a sentinel', () => {
  it('[VALKEY-22] [VALKEY-24] when a primary dies, the promoted one has every confirmed write and devices go on', async () => {
    const login = { sentinelLogin: SEEKER.username, sentinelPassword: SEEKER.password };
    const { sentinel, push, pull } = await start(2, { ...login, confirmReplicas: 1 });
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

  it('[VALKEY-22] the store leaves a primary that hangs for the promoted one', async () => {
    const { sentinel, push, tidemark } = await start(1);
    await push({ 1: { a: 1 } });
    await sentinel.catchUp();
    process.kill(sentinel.primary.pid, 'SIGSTOP');
    expect(await refusalOf(push({ lost: { a: 1 } }))).toBe('store_unavailable');
    await untilServed(() => push({ 2: { a: 1 } }));
    const objects = await untilServed(() => tidemark.objects.read({ source: 'Product' }));
    expect([...objects.keys()]).toEqual(['1', '2']);
  });

  it('[VALKEY-5] when the promoted replica lacks writes, the devices that had seen them start over and others go on', async () => {
    const { sentinel, push, pull } = await start(1);
    await push({ 1: { a: 1 } });
    const early = await pull('early', null);
    await sentinel.catchUp();
    await sentinel.cutOff();
    await push({ 2: { a: 1 } });
    const late = await pull('late', null);
    await sentinel.primary.kill();
    // Another change gets the lost seq, and the head passes what the device with the lost write has seen.
    await untilServed(() => push({ 3: { a: 1 }, 4: { a: 1 } }));
    expect(readToken(late.token)?.seq).toBe(2);

    const goesOn = await pull('early', early.token);
    expect([goesOn.reset, Object.keys(goesOn.put ?? {})]).toEqual([undefined, ['3', '4']]);
    const startsOver = await pull('late', late.token);
    expect([startsOver.reset, Object.keys(startsOver.put ?? {})]).toEqual([true, ['1', '3', '4']]);
  });

  it('[VALKEY-14] sentinels and primary are contacted only by TLS when the address says so', async () => {
    const sentinel = await startValkeySentinel(1);
    onTestFinished(() => sentinel.remove());
    await expect(opened(sentinel.address.replace('valkey+', 'valkeys+'))).rejects.toThrow(/cannot be used/);
  });

  it('[VALKEY-2] a store whose primary no sentinel knows is refused at start', async () => {
    const sentinel = await startValkeySentinel(1);
    onTestFinished(() => sentinel.remove());
    const unknown = opened(sentinel.address.replace('/tide', '/ebb'));
    await expect(unknown).rejects.toThrow(/cannot be used: no sentinel names a primary: ERR No such master/);
    await sentinel.stopSentinel();
    await expect(opened(sentinel.address)).rejects.toThrow(/cannot be used: no sentinel can be reached$/);
  });

  it('[VALKEY-2] [VALKEY-24] a wrong login at the sentinels is refused at start in one sentence without a password', async () => {
    const sentinel = await startValkeySentinel(1, { password: 'barnacle' });
    onTestFinished(() => sentinel.remove());
    const [missing, wrong, misplaced] = await Promise.all([
      problemOf(sentinel.address),
      problemOf(sentinel.address, { sentinelPassword: 'limpet' }),
      problemOf(sentinel.address, { password: 'barnacle', login: 'replica' }),
    ]);
    const refused = `the store at ${sentinel.address} cannot be used: the sentinels refuse valkey.sentinel_login and valkey.sentinel_password`;
    expect(missing).toBe(`${refused}: NOAUTH Authentication required`);
    expect(wrong).toBe(`${refused}: WRONGPASS invalid username-password pair or user is disabled`);
    expect(misplaced).toBe(missing);
    const beside = `valkey+sentinel://127.0.0.1:1,${sentinel.address.slice('valkey+sentinel://'.length)}`;
    for (const address of [beside, inOtherOrder(beside)]) {
      expect(await problemOf(address)).toContain('the sentinels refuse');
    }
    // The login at the sentinels is not valid at the servers.
    const login = { sentinelPassword: 'barnacle', login: 'replica', password: 'limpet' };
    expect(await problemOf(sentinel.address, login)).toBe(
      `the store at ${sentinel.address} cannot be used: the server refuses valkey.login and valkey.password: WRONGPASS invalid username-password pair or user is disabled`,
    );
    expect(await problemOf(sentinel.address, { ...login, password: 'known' })).toBe('');
  });

  it('[VALKEY-26] the primary is found although a sentinel accepts connections and does not reply', async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const sockets = new Set<Socket>();
    silent.on('connection', (socket) => sockets.add(socket.on('error', () => undefined)));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const sentinel = await startValkeySentinel(1);
    onTestFinished(() => sentinel.remove());
    const { port } = silent.address() as AddressInfo;
    const store = await openValkeyStore({
      address: sentinel.address.replace('valkey+sentinel://', `valkey+sentinel://127.0.0.1:${port},`),
    });
    onTestFinished(() => store.close());
    expect(sockets.size).toBeGreaterThan(0);
    const { tidemark } = await newTidemark({ store });
    await tidemark.objects.push({ source: 'Product', objects: { 1: { a: 1 } } });
    expect([...(await tidemark.objects.read({ source: 'Product' })).keys()]).toEqual(['1']);
  });

  it('[VALKEY-22] the primary is found again after its sentinels were away as well', async () => {
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

/** Returns why a store cannot be opened; '' when it can. */
async function problemOf(address: string, options: Partial<ValkeyOptions> = {}): Promise<string> {
  return opened(address, options).then(
    () => '',
    (error: Error) => {
      expect(inspect(error, { depth: 9 })).not.toMatch(/barnacle|limpet/);
      return error.message;
    },
  );
}

/** Swaps the two sentinels of an address: the result must not depend on which of them is asked last. */
function inOtherOrder(address: string): string {
  return address.replace(/\/\/(.*),(.*)\/(.*)$/, '//$2,$1/$3');
}

/** Opens a store and closes it, so that a failing test leaves nothing behind. */
async function opened(address: string, options: Partial<ValkeyOptions> = {}): Promise<void> {
  const store = await openValkeyStore({ address, ...options });
  await store.close();
}
