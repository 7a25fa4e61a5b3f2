import { type Page, SET_TOKEN_AGE_MS_MAX } from '@tidemark/protocol';
import { newTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { pageJson } from '../pages/render-page.ts';
import { groupOf } from '../ports/owner.ts';
import type { Store } from '../ports/store.ts';
import type { GroupTokens } from './presented.ts';

type Test = Awaited<ReturnType<typeof setUp>>;

/** A device that presents one token for all groups that did not change, as docs/reference/sync-protocol.md says. */
class SetDevice {
  readonly tokens = new Map<string, string>();
  readonly ids = new Map<string, Set<string>>();
  /** Groups whose tokens the set token does not stand for. */
  readonly named = new Set<string>();
  set: string | null = null;
  readonly #test: Pick<Test, 'tidemark'>;
  readonly #id: { readonly user: string; readonly client: string };

  constructor(test: Pick<Test, 'tidemark'>, id: { readonly user: string; readonly client: string }) {
    this.#test = test;
    this.#id = id;
  }

  async ask(more: Partial<GroupTokens> = {}) {
    const groups = new Map([...this.tokens].filter(([group]) => this.set === null || this.named.has(group)));
    const tokens: GroupTokens = { groups, set: this.set, ...more };
    const pulled = await this.#test.tidemark.devices.pull(this.#id, { sources: new Map([['Visit', tokens]]) });
    const { gone = [], changed = [], setToken, more: isMore } = pulled.grouped[0] ?? {};
    const pages = new Map<string, Page>();
    for (const { group, page } of pulled.pages) {
      if (!('error' in page)) pages.set(group ?? '', JSON.parse(pageJson(page.token, page.body)) as Page);
    }
    return { pages, gone, changed, setToken, more: isMore, isUnchanged: pulled.isUnchanged };
  }

  async pull(more: Partial<GroupTokens> = {}) {
    for (let round = 0; round < 20; round++) {
      const answer = await this.ask(more);
      for (const group of answer.gone) {
        this.tokens.delete(group);
        this.ids.delete(group);
      }
      for (const group of answer.changed) this.named.add(group);
      for (const [group, page] of answer.pages) this.#apply(group, page);
      if (answer.setToken !== undefined) {
        this.set = answer.setToken;
        this.named.clear();
      }
      if (answer.more === false && answer.pages.size === 0) return answer;
    }
    throw new Error('the device never catches up');
  }

  #apply(group: string, page: Page): void {
    const ids = page.reset === true ? new Set<string>() : (this.ids.get(group) ?? new Set());
    for (const id of Object.keys(page.put ?? {})) ids.add(id);
    for (const id of page.delete ?? []) ids.delete(id);
    this.ids.set(group, ids);
    this.tokens.set(group, page.token);
    this.named.add(group);
  }

  get union(): readonly string[] {
    return [...new Set([...this.ids.values()].flatMap((ids) => [...ids]))].sort();
  }
}

async function setUp() {
  const { tidemark, store, clock } = await newTidemark();
  await tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
  await tidemark.groups.set('ada', ['north', 'south', 'west']);
  const push = (group: string, objects: object) => tidemark.objects.push({ source: 'Visit', group, objects });
  await push('north', { n1: { a: 1 } });
  await push('south', { s1: { a: 1 } });
  const { client_id: client } = await tidemark.clients.register('ada', {});
  const device = new SetDevice({ tidemark }, { user: 'ada', client });
  await device.pull();
  return { tidemark, store, clock, push, device, client };
}

/** Runs once, before the next state is read. */
function beforeState(store: Store, work: () => Promise<unknown>): void {
  const partition = store.partition.bind(store);
  Object.assign(store, {
    partition: async (key: Parameters<Store['partition']>[0]) => {
      Object.assign(store, { partition });
      await work();
      return partition(key);
    },
  });
}

describe('set tokens', () => {
  it('[GROUP-24] a device that has presented all its tokens gets one token for all of them', async () => {
    const { push, device } = await setUp();
    expect(device.set).toEqual(expect.any(String));
    expect(await device.ask()).toMatchObject({ pages: new Map(), changed: [], gone: [], more: false });
    await push('south', { s2: { a: 1 } });
    await push('other', { o1: { a: 1 } });
    expect(await device.ask()).toMatchObject({ pages: new Map(), changed: ['south'], more: true });
    const old = device.set;
    await device.pull();
    expect(device.union).toEqual(['n1', 's1', 's2']);
    expect(device.set).not.toBe(old);
    expect(await device.ask()).toMatchObject({ pages: new Map(), changed: [], more: false });
  });

  it('[GROUP-24] a device gets a set token only when it no longer presents groups that the user has left', async () => {
    const { tidemark, device } = await setUp();
    await tidemark.groups.remove('ada', ['south']);
    device.set = null;
    const left = await device.ask();
    expect([left.gone, left.pages.size, left.setToken]).toEqual([['south'], 0, undefined]);
    device.tokens.delete('south');
    const { gone, setToken } = await device.ask();
    expect([gone, setToken]).toEqual([[], expect.any(String)]);
  });

  it('[GROUP-24] a device that does not ask for a set token gets none', async () => {
    const { tidemark, client, device } = await setUp();
    const sources = new Map([['Visit', { groups: new Map(device.tokens) }]]);
    const { pages, grouped } = await tidemark.devices.pull({ user: 'ada', client }, { sources });
    expect([pages, grouped]).toEqual([[], [{ source: 'Visit', gone: [], changed: [], more: false }]]);
  });

  it('[GROUP-24] a set token is given only for tokens that the device has presented', async () => {
    const { push, device } = await setUp();
    await push('south', { s2: { a: 1 } });
    await device.ask();
    device.named.add('south');
    const lost = await device.ask();
    expect([lost.pages.has('south'), lost.setToken]).toEqual([true, undefined]);
    await device.pull();
    expect(device.union).toEqual(['n1', 's1', 's2']);
  });

  it('[GROUP-25] a set token is unknown after a grant or revoke, and the device presents all tokens', async () => {
    const { tidemark, push, device } = await setUp();
    await push('east', { e1: { a: 1 } });
    await tidemark.groups.add('ada', ['east']);
    expect(await device.ask()).toMatchObject({ pages: new Map(), setToken: null, more: true });
    await device.pull();
    expect(device.union).toEqual(['e1', 'n1', 's1']);
    await tidemark.groups.remove('ada', ['north']);
    expect(await device.ask()).toMatchObject({ pages: new Map(), setToken: null, more: true });
    await device.pull();
    expect(device.union).toEqual(['e1', 's1']);
    // Back in the same groups, but what was written meanwhile is new to the device.
    await tidemark.groups.add('ada', ['north']);
    await device.pull();
    expect(device.union).toEqual(['e1', 'n1', 's1']);
  });

  it('[GROUP-25] a set token is unknown after the source was deleted and declared again', async () => {
    const { tidemark, push, device } = await setUp();
    await tidemark.sources.drop('Visit');
    await tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
    expect(await device.ask()).toMatchObject({ setToken: null, more: true });
    await push('north', { n9: { a: 1 } });
    await device.pull();
    expect(device.union).toEqual(['n9']);
  });

  it('[GROUP-25] a set token is unknown after the device was told to start over, and after an hour', async () => {
    const { tidemark, clock, device, client } = await setUp();
    await tidemark.devices.restart({ user: 'ada', client });
    expect((await device.ask()).setToken).toBeNull();
    await device.pull();
    clock.advance(SET_TOKEN_AGE_MS_MAX - 1);
    expect((await device.ask()).setToken).toBeUndefined();
    // Notes the visit, so that a pull soon after has nothing to record.
    const last = await device.ask();
    expect(await last.isUnchanged?.()).toBe(true);
    clock.advance(1);
    expect(await last.isUnchanged?.()).toBe(false);
    expect((await device.ask()).setToken).toBeNull();
  });

  it('[GROUP-25] a set token is unknown for other groups, for another user and when it is damaged', async () => {
    const { tidemark, device } = await setUp();
    expect((await device.ask({ only: ['north'] })).setToken).toBeNull();
    await tidemark.groups.set('bob', ['north', 'south', 'west']);
    const { client_id: client } = await tidemark.clients.register('bob', {});
    const other = new SetDevice({ tidemark }, { user: 'bob', client });
    expect((await other.ask({ set: device.set })).setToken).toBeNull();
    for (const damaged of ['', 'x', `${device.set}x`, `${device.set}`.replace('1~', '2~'), 'x'.repeat(1_000)]) {
      expect((await device.ask({ set: damaged })).setToken).toBeNull();
    }
  });

  it('[GROUP-25] a set token for some groups stands for those only', async () => {
    const { push, device } = await setUp();
    const only = ['north'];
    device.set = null;
    await device.pull({ only });
    await push('south', { s2: { a: 1 } });
    expect(await device.ask({ only })).toMatchObject({ changed: [], more: false });
    await push('north', { n2: { a: 1 } });
    expect(await device.ask({ only })).toMatchObject({ changed: ['north'], more: true });
  });

  it('[GROUP-26] a commit during the pull that gives a set token is told by the next pull', async () => {
    const { push, store, device } = await setUp();
    device.set = null;
    const partition = store.partition.bind(store);
    let isRead = false;
    Object.assign(store, {
      partition: async (key: Parameters<Store['partition']>[0]) => {
        const state = await partition(key);
        const isFirst = !isRead && groupOf(key) === 'south';
        isRead ||= isFirst;
        if (isFirst) await push('south', { s2: { a: 1 } });
        return state;
      },
    });
    const answer = await device.ask();
    expect([answer.pages.size, answer.setToken]).toEqual([0, expect.any(String)]);
    device.set = answer.setToken ?? null;
    await device.pull();
    expect(device.union).toEqual(['n1', 's1', 's2']);
  });

  it('[GROUP-26] an answer that tells a removal, but not the addition to a group of the set, says that there is more', async () => {
    const { tidemark, store, push, device } = await setUp();
    await push('north', { n2: { a: 1 } });
    device.named.add('north');
    beforeState(store, () => tidemark.objects.move({ source: 'Visit', from: 'north', to: 'south', objects: ['n1'] }));
    const answer = await device.ask();
    expect([answer.pages.get('north')?.delete, answer.changed, answer.more]).toEqual([['n1'], [], true]);
    await device.pull();
    expect(device.union).toEqual(['n1', 'n2', 's1']);
  });

  it('[GROUP-26] an unchanged pull with a set token is answered again until a group changes', async () => {
    const { tidemark, push, device } = await setUp();
    const quiet = await device.ask();
    expect(await quiet.isUnchanged?.()).toBe(true);
    await push('other', { o1: { a: 1 } });
    expect(await quiet.isUnchanged?.()).toBe(true);
    await push('south', { s2: { a: 1 } });
    expect(await quiet.isUnchanged?.()).toBe(false);
    await device.pull();
    const again = await device.ask();
    expect(await again.isUnchanged?.()).toBe(true);
    await tidemark.groups.remove('ada', ['west']);
    expect(await again.isUnchanged?.()).toBe(false);
  });

  it('[GROUP-26] a store that cannot tell which groups have changed counts as changed', async () => {
    const { store, push, device } = await setUp();
    const { changedSince } = store;
    const quiet = await device.ask();
    for (const unknown of [null, { mark: 'x', changed: null }]) {
      store.changedSince = async () => unknown;
      expect(await quiet.isUnchanged?.()).toBe(false);
    }
    await push('north', { n2: { a: 1 } });
    device.named.add('north');
    store.changedSince = async (...call) => {
      store.changedSince = async () => null;
      return changedSince.apply(store, call);
    };
    const answer = await device.ask();
    expect([[...answer.pages.keys()], answer.changed, answer.more]).toEqual([['north'], [], true]);
  });

  it('[GROUP-27] a pull without news is three round trips to the store, however many groups the device has', async () => {
    const { tidemark, store, device } = await setUp();
    await tidemark.groups.set(
      'ada',
      Array.from({ length: 200 }, (_, number) => `group ${number}`),
    );
    await device.pull();
    let trips = 0;
    let turn: Promise<void> | null = null;
    const nextTurn = () => {
      trips++;
      return new Promise<void>((resolve) => {
        setImmediate(() => {
          turn = null;
          resolve();
        });
      });
    };
    for (const name of ['readEntry', 'partition', 'changedSince', 'listNotes', 'readTidemark'] as const) {
      const read = store[name].bind(store) as (...args: unknown[]) => Promise<unknown>;
      Object.assign(store, {
        [name]: async (...args: unknown[]) => {
          turn ??= nextTurn();
          await turn;
          return read(...args);
        },
      });
    }
    expect(await device.ask()).toMatchObject({ changed: [], more: false });
    expect(trips).toBeLessThanOrEqual(3);
  });
});
