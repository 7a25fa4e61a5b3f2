import { type DiskPart, type FileDirectory, type LocalStore, memoryStore, openDevice } from '@tidemark/client';
import { localStoreContract, newDeviceFixture } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { type SecureItems, secureKey } from './secure-items.ts';
import { secureSession } from './secure-session.ts';

class MemoryItems implements SecureItems {
  readonly items = new Map<string, string>();
  readonly calls: string[] = [];
  fails: ((call: string) => boolean) | null = null;

  async get(name: string): Promise<string | null> {
    this.#note('get');
    return this.items.get(name) ?? null;
  }

  async set(name: string, value: string): Promise<void> {
    this.#note('set');
    this.items.set(name, value);
  }

  async delete(name: string): Promise<void> {
    this.#note('delete');
    this.items.delete(name);
  }

  #note(call: string): void {
    this.calls.push(call);
    if (this.fails?.(call)) throw new Error('the keychain is locked');
  }
}

let drawn = 0;
const randomBytes = (count: number) => new Uint8Array(count).fill(++drawn % 256);

/** A store that outlives its device, as a database does. */
function lastingStore(): LocalStore & { rows(): Promise<string> } {
  const store = memoryStore();
  return Object.assign(store, { close: async () => undefined, rows: async () => JSON.stringify(await store.load()) });
}

const wrapped = (store: LocalStore, items: SecureItems) => secureSession(store, items, { randomBytes });
const SESSION = { table: 'facts', key: ['', 'session'] } as const;
const sessionOf = async (store: LocalStore) =>
  (await store.load()).find(({ table, key }) => table === 'facts' && key[1] === 'session')?.value;

localStoreContract('a store with its session in the keychain', {
  isDurable: false,
  newPlace: async () => {
    const items = new MemoryItems();
    return { open: async () => wrapped(memoryStore(), items), remove: async () => undefined };
  },
});

it('[PHONE-40] tokens are in the keychain and not in the store, from sign-in to the end of the session', async () => {
  const fixture = await newDeviceFixture();
  const [store, items] = [lastingStore(), new MemoryItems()];
  const { platform } = fixture;
  const open = () => openDevice({ url: 'http://tidemark.test', platform, live: false, store: wrapped(store, items) });
  const device = await open();
  await fixture.finish(device.signIn({ login: 'ada', password: 'long enough' }));
  await fixture.finish(device.sync());
  await device.close();
  const [item = '', ...others] = items.items.values();
  const { token } = JSON.parse(item).secrets.session;
  expect([typeof token, others]).toEqual(['string', []]);
  expect(await store.rows()).not.toContain(token);

  const again = await open();
  await fixture.finish(again.sync());
  expect(again.status.getSnapshot()).toMatchObject({ mode: 'idle', userId: 'ada' });
  // The server hears of the sign-out later: its token waits in the keychain, too.
  again.goOffline();
  await fixture.finish(again.signOut());
  expect([await store.rows(), [...items.items.values()].join()].map((text) => text.includes(token))).toEqual([
    false,
    true,
  ]);
  again.goOnline();
  await fixture.platform.advance(60_000);
  await again.close();
  expect([...items.items.keys()]).toEqual([]);
});

it('[PHONE-41] a kill between keychain and store leaves the last session, whichever call it comes before', async () => {
  for (const killedBefore of ['set', 'commit', 'delete'] as const) {
    const [inner, items] = [lastingStore(), new MemoryItems()];
    await wrapped(inner, items).commit([{ ...SESSION, value: { token: 'first' } }]);
    const dies = (): never => {
      throw new Error('killed');
    };
    const dying = killedBefore === 'commit' ? { ...inner, commit: async () => dies(), load: inner.load } : inner;
    const store = wrapped(dying, items);
    await store.load();
    if (killedBefore !== 'commit') items.fails = (call) => call === killedBefore;
    const outcome = await store.commit([{ ...SESSION, value: { token: 'second' } }]).then(
      () => 'stored',
      () => 'failed',
    );
    items.fails = null;
    const isStored = killedBefore === 'delete';
    expect([killedBefore, outcome]).toEqual([killedBefore, isStored ? 'stored' : 'failed']);
    const token = isStored ? 'second' : 'first';
    expect([killedBefore, await sessionOf(wrapped(inner, items))]).toEqual([killedBefore, { token }]);
    // What was left over is replaced by the next sessions.
    const next = wrapped(inner, items);
    await next.load();
    await next.commit([{ ...SESSION, value: { token: 'third' } }]);
    await next.commit([{ ...SESSION, value: { token: 'fourth' } }]);
    expect([...items.items.values()].filter((item) => !item.includes('fourth'))).toEqual([]);
    expect(await sessionOf(wrapped(inner, items))).toEqual({ token: 'fourth' });
  }
});

it('[PHONE-42] a store without its item, or with that of another store, has no session, and keeps its data', async () => {
  const [store, items] = [lastingStore(), new MemoryItems()];
  const object = { table: 'objects', key: ['Order', '1'], value: { total: 1 } } as const;
  await wrapped(store, items).commit([{ ...SESSION, value: { token: 'first' } }, object]);
  const other = new MemoryItems();
  await wrapped(lastingStore(), other).commit([{ ...SESSION, value: { token: 'other' } }]);
  for (const found of [new MemoryItems(), other]) expect(await wrapped(store, found).load()).toEqual([object]);
});

it('[PHONE-43] a store that had its session in its files hands it to the keychain when it is opened', async () => {
  const [store, items] = [lastingStore(), new MemoryItems()];
  const revocations = { table: 'facts', key: ['', 'revocations'], value: [{ token: 'ended' }] } as const;
  await store.commit([{ ...SESSION, value: { token: 'plain' } }, revocations]);
  const rows = await wrapped(store, items).load();
  expect(rows).toEqual(expect.arrayContaining([{ ...SESSION, value: { token: 'plain' } }, revocations]));
  expect(await store.rows()).not.toMatch(/plain|ended/);
  expect(await sessionOf(wrapped(store, items))).toEqual({ token: 'plain' });
});

it('[PHONE-43] the first rows of a store have the session, too', async () => {
  const [inner, items] = [lastingStore(), new MemoryItems()];
  await wrapped(inner, items).commit([{ ...SESSION, value: { token: 'first' } }]);
  const load: LocalStore['load'] = async (onFirst) => {
    const rows = await inner.load();
    onFirst?.(rows);
    return rows;
  };
  const first: unknown[] = [];
  await wrapped({ ...inner, load }, items).load((rows) => first.push(...rows));
  expect(first).toEqual([{ ...SESSION, value: { token: 'first' } }]);
});

it('[PHONE-40] session and ended sessions are written apart, and both are there when sources stay on the disk and when files are kept', async () => {
  const [inner, items] = [lastingStore(), new MemoryItems()];
  const loaded: (readonly string[])[] = [];
  const disk = {
    load: async (choose: Parameters<DiskPart['load']>[0]) => {
      const rows = await inner.load();
      loaded.push(choose(rows));
      return rows;
    },
  } as unknown as DiskPart;
  const files = {} as FileDirectory;
  const open = () => wrapped({ ...inner, disk, files: async () => files }, items);
  const store = open();
  const ended = { table: 'facts', key: ['', 'revocations'], value: [{ token: 'ended' }] } as const;
  await store.commit([{ ...SESSION, value: { token: 'first' } }]);
  await store.commit([ended]);
  const rows = await open().disk?.load(() => ['Order']);
  expect([rows, loaded]).toEqual([[{ ...SESSION, value: { token: 'first' } }, ended], [['Order']]]);
  expect(await open().files?.()).toBe(files);
});

it('[PHONE-44] a locked keychain is an error of the store, and nothing is changed', async () => {
  const [store, items] = [lastingStore(), new MemoryItems()];
  items.fails = () => true;
  await expect(wrapped(store, items).load()).rejects.toThrow('locked');
  await expect(wrapped(store, items).commit([{ ...SESSION, value: { token: 'first' } }])).rejects.toThrow('locked');
  expect(await store.load()).toEqual([]);
  // Commits that have no session do not need it.
  const object = { table: 'objects', key: ['Order', '1'], value: {} } as const;
  await wrapped(store, items).commit([object]);
  expect(await store.load()).toEqual([object]);
});

it('[PHONE-45] a key is made once, and an item that is no key is never replaced', async () => {
  const items = new MemoryItems();
  const key = await secureKey(items, { randomBytes });
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(await secureKey(items, { randomBytes })).toBe(key);
  expect(await secureKey(items, { randomBytes, name: 'other' })).not.toBe(key);
  items.items.set('tidemark.key', 'broken');
  await expect(secureKey(items, { randomBytes })).rejects.toThrow('not a key');
  expect(items.items.get('tidemark.key')).toBe('broken');
  await expect(secureKey(items, { randomBytes: () => new Uint8Array(3), name: 'short' })).rejects.toThrow('32 bytes');
  const forgetful = Object.assign(new MemoryItems(), { set: async () => undefined });
  await expect(secureKey(forgetful, { randomBytes })).rejects.toThrow('not kept');
});

it('[PHONE-45] calls at the same time get the same key, and it is the one that is kept', async () => {
  const items = new MemoryItems();
  const options = { randomBytes, name: 'together' };
  const [one, two] = await Promise.all([secureKey(items, options), secureKey(items, options)]);
  expect([two, items.items.get('together')]).toEqual([one, one]);
});

it('[PHONE-46] an item stays below 2,048 bytes: of ended sessions that do not fit, the oldest are forgotten', async () => {
  const [store, items] = [lastingStore(), new MemoryItems()];
  const session = { token: 't'.repeat(53), userId: 'ü'.repeat(127), about: 'x'.repeat(300) };
  const ended = Array.from({ length: 10 }, (_, at) => ({ token: `${at}`.repeat(53), clientId: 'c'.repeat(150) }));
  const revocations = { table: 'facts', key: ['', 'revocations'], value: ended } as const;
  await wrapped(store, items).commit([{ ...SESSION, value: session }, revocations]);
  const [item = ''] = items.items.values();
  expect(Buffer.byteLength(item)).toBeLessThan(2_048);
  const rows = await wrapped(store, items).load();
  const found = (name: string) => rows.find(({ key }) => key[1] === name)?.value;
  const left = found('revocations') as typeof ended;
  expect([found('session'), left.at(-1), left]).toEqual([session, ended.at(-1), ended.slice(-left.length)]);
  expect(left.length).toBeGreaterThan(3);
});
