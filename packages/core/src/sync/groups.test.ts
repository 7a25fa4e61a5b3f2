import {
  GROUP_PAGES_PER_PULL_MAX,
  GROUPS_PER_USER_MAX,
  type Outcome,
  type Page,
  Refusal,
  type Upload,
} from '@tidemark/protocol';
import { newTidemark, refusalOf } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { pageJson } from '../pages/render-page.ts';
import type { Adapter } from '../ports/adapter.ts';
import { groupOf, groupPartition, ownerText } from '../ports/owner.ts';
import type { Store } from '../ports/store.ts';
import type { GroupTokens } from './presented.ts';

type Tidemark = Awaited<ReturnType<typeof newTidemark>>['tidemark'];

type Pages = Record<string, Page | { error: { code: string } }>;

/** A device that keeps tokens and objects of each group, as docs/reference/sync-protocol.md says. */
class GroupDevice {
  readonly tokens = new Map<string, string>();
  readonly held = new Map<string, Map<string, unknown>>();
  readonly tidemark: Tidemark;
  readonly id: { readonly user: string; readonly client: string };

  constructor(tidemark: Tidemark, id: GroupDevice['id']) {
    this.tidemark = tidemark;
    this.id = id;
  }

  async ask(more: Partial<GroupTokens> = {}, objectsMax = 500) {
    const sources = new Map([['Visit', { groups: new Map(this.tokens), ...more }]]);
    const { pages, grouped, outcomes, isUnchanged } = await this.tidemark.devices.pull(this.id, {
      sources,
      objectsMax,
    });
    const [news] = grouped;
    if (news === undefined) throw new Error(`no groups: ${JSON.stringify(pages)}`);
    const groups: Pages = {};
    for (const { group, page } of pages) {
      groups[group ?? ''] = 'error' in page ? page : (JSON.parse(pageJson(page.token, page.body)) as Page);
    }
    return { groups, gone: news.gone, more: news.more, outcomes, isUnchanged };
  }

  async pull(more: Partial<GroupTokens> = {}, objectsMax?: number) {
    for (let round = 0; round < 100; round++) {
      const answer = this.apply(await this.ask(more, objectsMax));
      if (!answer.more) return answer;
    }
    throw new Error('the device never catches up');
  }

  apply<T extends { readonly gone: readonly string[]; readonly groups: Pages }>(answer: T): T {
    for (const group of answer.gone) {
      this.tokens.delete(group);
      this.held.delete(group);
    }
    for (const [group, page] of Object.entries(answer.groups)) if ('token' in page) this.#apply(group, page);
    return answer;
  }

  #apply(group: string, page: Page): void {
    const held = page.reset === true ? new Map<string, unknown>() : (this.held.get(group) ?? new Map());
    for (const id of page.delete ?? []) held.delete(id);
    for (const [id, object] of Object.entries(page.put ?? {})) held.set(id, object);
    for (const [id, patch] of Object.entries(page.patch ?? {})) held.set(id, { ...(held.get(id) as object), ...patch });
    this.held.set(group, held);
    this.tokens.set(group, page.token);
  }

  get ids(): readonly string[] {
    return [...new Set([...this.held.values()].flatMap((held) => [...held.keys()]))].sort();
  }
}

async function setUp(adapter?: Adapter) {
  const adapters = { find: (name: string) => (name === 'Visit' ? (adapter ?? null) : null) };
  const { tidemark, store } = await newTidemark(adapter === undefined ? {} : { adapters });
  const given = adapter === undefined ? {} : { adapter: 'Visit', poll_interval: 0 };
  await tidemark.sources.declare({ name: 'Visit', partition_type: 'group', ...given });
  const deviceOf = async (user: string) =>
    new GroupDevice(tidemark, { user, client: (await tidemark.clients.register(user, {})).client_id });
  const push = (group: string, objects: object) => tidemark.objects.push({ source: 'Visit', group, objects });
  return { tidemark, store, push, ada: await deviceOf('ada'), bob: await deviceOf('bob'), deviceOf };
}

describe('groups', () => {
  it('[GROUP-1] a push names a group, and every member gets its objects', async () => {
    const { tidemark, push, ada, bob } = await setUp();
    await tidemark.groups.set('ada', ['south', 'north', 'north']);
    await tidemark.groups.set('bob', ['south']);
    expect(await push('north', { n1: { a: 1 } })).toMatchObject({ source: 'Visit', user_id: null, group: 'north' });
    await push('south', { s1: { a: 1 } });
    await push('west', { w1: { a: 1 } });
    const { groups, more } = await ada.pull();
    expect([Object.keys(groups), more, ada.ids]).toEqual([['north', 'south'], false, ['n1', 's1']]);
    await bob.pull();
    expect(bob.ids).toEqual(['s1']);
    expect(await ada.ask()).toMatchObject({ groups: {}, gone: [], more: false });
  });

  it('[GROUP-2] a call about a source of groups that names none is refused, and so is a group of another source', async () => {
    const { tidemark, ada } = await setUp();
    const objects = { x: { a: 1 } };
    expect(await refusalOf(tidemark.objects.push({ source: 'Visit', user_id: 'ada', objects }))).toBe('group_required');
    expect(await refusalOf(tidemark.objects.push({ source: 'Visit', group: '..', objects }))).toBe('invalid_name');
    expect(await refusalOf(tidemark.objects.push({ source: 'Order', user_id: 'ada', group: 'n', objects }))).toBe(
      'invalid_request',
    );
    const { pages } = await tidemark.devices.pull(ada.id, { sources: new Map([['Visit', null]]) });
    expect(pages[0]?.page).toMatchObject({ error: { code: 'group_required' } });
    expect(await refusalOf(tidemark.sources.update('Visit', { sync_type: 'bulk_only' }))).toBe('invalid_value');
  });

  it('[GROUP-3] a grant delivers what was pushed before it, and a revoke removes at the next pull', async () => {
    const { tidemark, push, ada } = await setUp();
    await tidemark.groups.set('ada', ['north']);
    await push('north', { n1: { a: 1 } });
    await push('south', { s1: { a: 1 } });
    await ada.pull();
    await tidemark.groups.add('ada', ['south']);
    await ada.pull();
    expect(ada.ids).toEqual(['n1', 's1']);
    await tidemark.groups.remove('ada', ['north']);
    await push('north', { n2: { a: 1 } });
    const { gone, groups } = await ada.pull();
    expect([gone, groups, ada.ids]).toEqual([['north'], {}, ['s1']]);
  });

  it('[GROUP-4] an object in two groups of a device stays while one of them remains', async () => {
    const { tidemark, push, ada } = await setUp();
    await tidemark.groups.set('ada', ['north', 'south']);
    await push('north', { both: { a: 1 }, n1: { a: 1 } });
    await push('south', { both: { a: 1 } });
    await ada.pull();
    await tidemark.groups.remove('ada', ['north']);
    await ada.pull();
    expect(ada.ids).toEqual(['both']);
  });

  it('[GROUP-5] a user who is removed while a pull reads gets no page of the group', async () => {
    const { tidemark, store, push, ada } = await setUp();
    await tidemark.groups.set('ada', ['north', 'south']);
    await push('north', { n1: { a: 1 } });
    await push('south', { s1: { a: 1 } });
    const { readJoined } = store;
    store.readJoined = async (...call) => {
      store.readJoined = readJoined;
      await tidemark.groups.remove('ada', ['north']);
      return readJoined.apply(store, call);
    };
    const { groups } = await ada.pull();
    expect(Object.keys(groups)).toEqual(['south']);
  });

  it('[GROUP-6] an unchanged pull is answered again until the groups of the user or their data change', async () => {
    const { tidemark, push, ada } = await setUp();
    await tidemark.groups.set('ada', ['north']);
    await push('north', { n1: { a: 1 } });
    await ada.pull();
    await ada.ask();
    const { isUnchanged } = await ada.ask();
    expect(await isUnchanged?.()).toBe(true);
    await tidemark.groups.add('ada', ['south']);
    expect(await isUnchanged?.()).toBe(false);
    await ada.pull();
    const again = await ada.ask();
    expect(await again.isUnchanged?.()).toBe(true);
    await push('south', { s1: { a: 1 } });
    expect(await again.isUnchanged?.()).toBe(false);
  });

  it('[GROUP-7] an answer has a bounded number of pages, and says that there are more', async () => {
    const { tidemark, push, ada } = await setUp();
    const names = Array.from({ length: GROUP_PAGES_PER_PULL_MAX + 20 }, (_, index) => `g${index}`);
    await tidemark.groups.set('ada', names);
    for (const name of names) await push(name, { [`of-${name}`]: { a: 1 } });
    const first = await ada.ask();
    expect([Object.keys(first.groups).length, first.more]).toEqual([GROUP_PAGES_PER_PULL_MAX, true]);
    await ada.pull({}, 10);
    expect(ada.ids.length).toBe(names.length);
  });

  it('[GROUP-8] a pull that names some groups gets only those, and hears of the others that are gone', async () => {
    const { tidemark, push, ada } = await setUp();
    await tidemark.groups.set('ada', ['north', 'south', 'west']);
    for (const group of ['north', 'south', 'west']) await push(group, { [group]: { a: 1 } });
    await ada.pull({ only: ['north', 'south'] });
    expect(ada.ids).toEqual(['north', 'south']);
    await tidemark.groups.set('ada', ['south', 'west']);
    expect(await ada.ask({ only: ['south'] })).toMatchObject({ groups: {}, gone: ['north'] });
  });

  it('[GROUP-9] a user is in at most 1,000 groups', async () => {
    const { tidemark } = await setUp();
    const names = Array.from({ length: GROUPS_PER_USER_MAX }, (_, index) => `g${index}`);
    expect((await tidemark.groups.set('ada', names)).groups.length).toBe(GROUPS_PER_USER_MAX);
    expect(await refusalOf(tidemark.groups.add('ada', ['another']))).toBe('limit_exceeded');
    expect(await refusalOf(tidemark.groups.set('ada', [...names, 'another']))).toBe('limit_exceeded');
    expect((await tidemark.groups.set('ada', names)).groups.length).toBe(GROUPS_PER_USER_MAX);
  });

  it('[GROUP-10] members and groups are listed in pages, and replaced in one call', async () => {
    const { tidemark } = await setUp();
    await tidemark.groups.set('ada', ['north', 'south']);
    await tidemark.groups.set('bob', ['north']);
    expect(await tidemark.groups.list()).toEqual(['north', 'south']);
    expect(await tidemark.groups.list({ after: 'north', limit: 1 })).toEqual(['south']);
    expect(await tidemark.groups.members('north', { limit: 1 })).toEqual(['ada']);
    expect(await tidemark.groups.members('north', { after: 'ada' })).toEqual(['bob']);
    expect(await tidemark.groups.setMembers('south', ['bob'])).toEqual({ group: 'south', added: 1, removed: 1 });
    expect([await tidemark.groups.get('ada'), await tidemark.groups.get('bob')]).toEqual([
      { user_id: 'ada', groups: ['north'] },
      { user_id: 'bob', groups: ['north', 'south'] },
    ]);
    expect(await refusalOf(tidemark.groups.setMembers('south', ['nobody']))).toBe('user_not_found');
  });

  it('[GROUP-11] a deleted user leaves all groups, their data stays, and a new user of the login is in none', async () => {
    const { tidemark, store, push, ada } = await setUp();
    await tidemark.groups.set('ada', ['north']);
    await push('north', { n1: { a: 1 } });
    await ada.pull();
    await tidemark.users.delete('ada');
    expect(await tidemark.groups.members('north')).toEqual([]);
    const left = await store.listEntries({ kind: 'setting', prefix: [], limit: 1_000 });
    expect(left.filter(({ key }) => key.includes('ada'))).toEqual([]);
    expect([...(await tidemark.objects.read({ source: 'Visit', group: 'north' })).keys()]).toEqual(['n1']);
    await tidemark.users.create({ attributes: { login: 'ada', password: 'long enough' } });
    expect((await tidemark.groups.get('ada')).groups).toEqual([]);
  });

  it('[GROUP-12] devices of members hear of a change, and of a grant or revoke', async () => {
    const { tidemark, push } = await setUp();
    const heard: unknown[] = [];
    let wake = () => {};
    tidemark.events.on('committed', ({ partition, cause }) => {
      heard.push([ownerText(partition.owner), cause]);
      wake();
    });
    const until = (count: number) =>
      new Promise<void>((resolve) => {
        wake = () => heard.length >= count && resolve();
        wake();
      });
    await tidemark.groups.set('ada', ['north']);
    await until(1);
    await push('north', { n1: { a: 1 } });
    await until(2);
    await tidemark.groups.set('bob', ['north']);
    await until(3);
    await tidemark.groups.set('bob', ['north']);
    await tidemark.groups.set('bob', []);
    await until(4);
    expect(heard).toEqual([
      ['ada', 'membership'],
      ['ada', 'push'],
      ['bob', 'membership'],
      ['bob', 'membership'],
    ]);
  });

  it('[GROUP-13] documents of a group are its own', async () => {
    const { tidemark, push } = await setUp();
    await push('north', { n1: { a: 1 } });
    const scope = { kind: 'group', source: 'Visit', group: 'north' } as const;
    await tidemark.documents.write(scope, 'note', { data: 'hello' });
    await tidemark.documents.write(scope, 'md', { data: { n2: { a: 2 } }, append: true });
    expect(await tidemark.documents.names(scope)).toEqual(['md', 'note']);
    expect(await tidemark.documents.read(scope, 'md')).toMatchObject({
      objects: new Map([
        ['n1', '{"a":1}'],
        ['n2', '{"a":2}'],
      ]),
    });
    expect(await refusalOf(tidemark.documents.read({ ...scope, group: 'south' }, 'note'))).toBe('doc_not_found');
    expect(await refusalOf(tidemark.documents.read({ kind: 'user', source: 'Visit', user: 'ada' }, 'md'))).toBe(
      'group_required',
    );
  });
});

describe('groups whose backend fails', () => {
  const names = Array.from({ length: GROUP_PAGES_PER_PULL_MAX + 20 }, (_, index) => `g${1_000 + index}`);

  async function setUpFailing(failing: readonly string[]) {
    const unused = async () => Promise.reject(new Error('not used'));
    const { tidemark, ada } = await setUp({
      ...{ create: unused, update: unused, delete: unused },
      query: async ({ partition = '' }) => {
        if (failing.includes(partition)) throw new Refusal('backend_unavailable', 'down');
        return { objects: { [`of-${partition}`]: { a: 1 } } };
      },
    });
    await tidemark.groups.set('ada', names);
    return ada;
  }

  it('[GROUP-32] groups whose backend fails do not keep the others from the device', async () => {
    const [failing, others] = [names.slice(0, GROUP_PAGES_PER_PULL_MAX), names.slice(GROUP_PAGES_PER_PULL_MAX)];
    const ada = await setUpFailing(failing);
    const first = ada.apply(await ada.ask());
    expect([Object.keys(first.groups), first.more]).toEqual([failing, true]);
    const second = ada.apply(await ada.ask());
    expect(Object.keys(second.groups).sort()).toEqual([...failing.slice(0, -others.length), ...others]);
    expect([second.more, ada.ids]).toEqual([false, others.map((group) => `of-${group}`)]);
  });

  it('[GROUP-32] errors alone are told for as many groups as there is room, and are no reason to pull again', async () => {
    const ada = await setUpFailing(names);
    await ada.pull();
    const { groups, more } = await ada.ask();
    const codes = Object.entries(groups).map(([group, page]) => [group, 'error' in page ? page.error?.code : null]);
    const failed = names.slice(0, GROUP_PAGES_PER_PULL_MAX).map((group) => [group, 'backend_unavailable']);
    expect([codes, more]).toEqual([failed, false]);
  });
});

describe('uploads to groups', () => {
  const upload = (group: string | undefined, more: Partial<Upload> = {}): Upload => ({
    ...{ op_id: 'op-1', source: 'Visit', op: 'create', id: 'v1', attributes: { a: 1 } },
    ...(group === undefined ? {} : { group }),
    ...more,
  });

  it('[GROUP-14] an upload goes to the group it names, or to the only one of the user', async () => {
    const { tidemark, ada, bob } = await setUp();
    await tidemark.groups.set('ada', ['north']);
    await tidemark.groups.set('bob', ['north', 'south']);
    const push = async (device: GroupDevice, change: Upload) =>
      (await tidemark.devices.push(device.id, { changes: [change] }))[0] as Outcome;
    expect(await push(ada, upload(undefined))).toMatchObject({ status: 'applied', group: 'north' });
    expect(await push(bob, upload(undefined))).toMatchObject({ status: 'rejected', error: { code: 'group_required' } });
    expect(await push(ada, upload('south'))).toMatchObject({ status: 'rejected', error: { code: 'not_a_member' } });
    expect(await push(bob, upload('south'))).toMatchObject({ status: 'applied', group: 'south' });
    const taken = await push(bob, upload('north', { op_id: 'op-2', attributes: { a: 2 } }));
    expect(taken).toMatchObject({
      status: 'rejected',
      group: 'north',
      error: { code: 'object_exists' },
      current: { a: 1 },
    });
  });

  it('[GROUP-14] an upload of a user who leaves the group before it is written is rejected', async () => {
    const { tidemark, store, ada } = await setUp();
    await tidemark.groups.set('ada', ['north', 'south']);
    const commit = store.commit.bind(store);
    let revoked = false;
    Object.assign(store, {
      commit: async (given: Parameters<typeof commit>[0]) => {
        if (!revoked) await tidemark.groups.set('ada', ['south']);
        revoked = true;
        return commit(given);
      },
    });
    const [outcome] = await tidemark.devices.push(ada.id, { changes: [upload('north')] });
    expect(outcome).toMatchObject({
      status: 'rejected',
      group: 'north',
      error: { code: 'not_a_member' },
      current: null,
    });
    expect((await store.partition(groupPartition('Visit', 'north'))).head).toBe(0);
    const [repeated] = await tidemark.devices.push(ada.id, { changes: [upload('north')] });
    expect(repeated).toMatchObject({ status: 'rejected', error: { code: 'not_a_member' } });
  });

  it('[GROUP-15] outcomes of a group are delivered until they are acknowledged, without objects after a revoke', async () => {
    const { tidemark, push, ada } = await setUp();
    await tidemark.groups.set('ada', ['north', 'south']);
    await push('north', { v1: { secret: 1 } });
    await tidemark.devices.push(ada.id, { changes: [upload('north')] });
    expect((await ada.ask({ uploads: ['north'] })).outcomes).toMatchObject([{ op_id: 'op-1', current: { secret: 1 } }]);
    expect((await ada.ask({ uploads: ['south'] })).outcomes).toEqual([]);
    await tidemark.groups.set('ada', ['south']);
    expect((await ada.ask({ uploads: ['north'] })).outcomes).toMatchObject([{ op_id: 'op-1', current: null }]);
    const acknowledged = new Map([['Visit', new Map([['north', ['op-1']]])]]);
    await tidemark.devices.push(ada.id, { changes: [], acknowledged });
    expect((await ada.ask({ uploads: ['north'] })).outcomes).toEqual([]);
  });
});

/** Makes `act` happen after the first commit to the group. */
function afterCommitTo(store: Store, group: string, act: () => Promise<unknown>): void {
  const { commit } = store;
  store.commit = async (call) => {
    const result = await commit.call(store, call);
    if (groupOf(call.partition)?.endsWith(group)) {
      store.commit = commit;
      await act();
    }
    return result;
  };
}

const objectsOf = async (tidemark: Tidemark, group: string) =>
  Object.fromEntries(await tidemark.objects.read({ source: 'Visit', group }));

describe('moving between groups', () => {
  it('[GROUP-16] a move takes objects from one group to another, and repeating it changes nothing', async () => {
    const { tidemark, push, ada, bob } = await setUp();
    await tidemark.groups.set('ada', ['north', 'south']);
    await tidemark.groups.set('bob', ['north']);
    await push('north', { v1: { a: 1 }, v2: { a: 1 } });
    await Promise.all([ada.pull(), bob.pull()]);
    const call = { source: 'Visit', from: 'north', to: 'south', objects: ['v1', 'nope'] };
    expect(await tidemark.objects.move(call)).toMatchObject({ from: 'north', to: 'south', moved: 1, missing: 1 });
    expect(await tidemark.objects.move(call)).toMatchObject({ moved: 0, missing: 2 });
    await Promise.all([ada.pull(), bob.pull()]);
    expect([ada.ids, bob.ids]).toEqual([['v1', 'v2'], ['v2']]);
    expect(ada.held.get('south')).toEqual(new Map([['v1', { a: 1 }]]));
    expect(await refusalOf(tidemark.objects.move({ ...call, to: 'north' }))).toBe('invalid_value');
    expect(await refusalOf(tidemark.objects.move({ ...call, source: 'Order' }))).toBe('invalid_request');
  });

  it('[GROUP-17] an answer that tells the removal of a move and not the addition says that there is more', async () => {
    const { tidemark, store, push, ada } = await setUp();
    await tidemark.groups.set('ada', ['a', 'b']);
    await push('b', { v1: { a: 1 } });
    await ada.pull();
    const { partition } = store;
    let isFirst = true;
    store.partition = async (key) => {
      const state = await partition.call(store, key);
      if (isFirst && groupOf(key)?.endsWith('a')) {
        isFirst = false;
        await tidemark.objects.move({ source: 'Visit', from: 'b', to: 'a', objects: ['v1'] });
      }
      return state;
    };
    const answer = await ada.ask();
    store.partition = partition;
    const seesRemoval = answer.groups.b !== undefined;
    const seesAddition = answer.groups.a !== undefined;
    expect(answer.more || !seesRemoval || seesAddition).toBe(true);
    await ada.pull();
    expect([ada.ids, ada.held.get('a')?.size]).toEqual([['v1'], 1]);
  });

  it('[GROUP-17] an object that changes during a move arrives with its change', async () => {
    const { tidemark, store, push } = await setUp();
    await push('north', { v1: { a: 1 } });
    afterCommitTo(store, 'south', () => push('north', { v1: { a: 2 } }));
    await tidemark.objects.move({ source: 'Visit', from: 'north', to: 'south', objects: ['v1'] });
    expect(await objectsOf(tidemark, 'south')).toEqual({ v1: { a: 2 } });
    expect(await objectsOf(tidemark, 'north')).toEqual({});
  });

  it('[GROUP-33] an object that is deleted during a move is not moved, and the target is as it was before', async () => {
    const { tidemark, store, push } = await setUp();
    await push('north', { v1: { a: 1 }, v2: { a: 1 }, v3: { a: 1 }, v4: { a: 1 } });
    await push('south', { v2: { own: 1 }, v3: { a: 1 } });
    const deleted = ['v1', 'v2', 'v3'];
    afterCommitTo(store, 'south', () =>
      tidemark.objects.pushDeletes({ source: 'Visit', group: 'north', objects: deleted }),
    );
    const call = { source: 'Visit', from: 'north', to: 'south', objects: [...deleted, 'v4'] };
    expect(await tidemark.objects.move(call)).toMatchObject({ moved: 1, missing: 3 });
    expect(await objectsOf(tidemark, 'south')).toEqual({ v2: { own: 1 }, v3: { a: 1 }, v4: { a: 1 } });
    expect(await objectsOf(tidemark, 'north')).toEqual({});
  });

  it('[GROUP-33] an object that is changed and then deleted during a move leaves the target as it was before the first copy', async () => {
    const { tidemark, store, push } = await setUp();
    await push('north', { v1: { a: 1 } });
    await push('south', { v1: { own: 1 } });
    const call = { source: 'Visit', objects: ['v1'] };
    afterCommitTo(store, 'south', async () => {
      await push('north', { v1: { a: 2 } });
      afterCommitTo(store, 'south', () => tidemark.objects.pushDeletes({ ...call, group: 'north' }));
    });
    expect(await tidemark.objects.move({ ...call, from: 'north', to: 'south' })).toMatchObject({
      moved: 0,
      missing: 1,
    });
    expect(await objectsOf(tidemark, 'south')).toEqual({ v1: { own: 1 } });
  });

  it('[GROUP-33] a copy that somebody changes before its original is deleted stays in the target', async () => {
    const { tidemark, store, push } = await setUp();
    await push('north', { v1: { a: 1 } });
    afterCommitTo(store, 'south', async () => {
      await push('south', { v1: { b: 1 } });
      await tidemark.objects.pushDeletes({ source: 'Visit', group: 'north', objects: ['v1'] });
    });
    await tidemark.objects.move({ source: 'Visit', from: 'north', to: 'south', objects: ['v1'] });
    expect(await objectsOf(tidemark, 'south')).toEqual({ v1: { a: 1, b: 1 } });
  });

  it('[GROUP-34] two moves of the same objects at the same time, as after a repeated call, lose none of them', async () => {
    const { tidemark, store, push } = await setUp();
    await push('north', { v1: { a: 1 }, v2: { a: 1 } });
    await push('south', { v2: { own: 1 } });
    const call = { source: 'Visit', from: 'north', to: 'south', objects: ['v1', 'v2'] };
    afterCommitTo(store, 'south', () => tidemark.objects.move(call));
    await tidemark.objects.move(call);
    expect(await objectsOf(tidemark, 'south')).toEqual({ v1: { a: 1 }, v2: { a: 1 } });
    expect(await objectsOf(tidemark, 'north')).toEqual({});
  });

  it('[GROUP-34] of two moves of the same objects, the one that has copied last takes nothing back from the other', async () => {
    const { tidemark, store, push } = await setUp();
    await push('north', { v1: { a: 1 } });
    const move = () => tidemark.objects.move({ source: 'Visit', from: 'north', to: 'south', objects: ['v1'] });
    const moves: Promise<unknown>[] = [];
    const secondHasCopied = () =>
      new Promise<void>((resolve) => {
        afterCommitTo(store, 'south', () => {
          resolve();
          return moves[0] as Promise<unknown>;
        });
        moves.push(move());
      });
    afterCommitTo(store, 'south', secondHasCopied);
    moves.push(move());
    await moves[0];
    await moves[1];
    expect(await objectsOf(tidemark, 'south')).toEqual({ v1: { a: 1 } });
    expect(await objectsOf(tidemark, 'north')).toEqual({});
  });

  it('[GROUP-33] devices hear of an addition also when only the removal had to be tried again', async () => {
    const { tidemark, store, push } = await setUp();
    await tidemark.groups.set('ada', ['south']);
    await tidemark.groups.set('bob', ['west']);
    await push('north', { v1: { a: 1 } });
    const heard: unknown[] = [];
    const last = new Promise<void>((resolve) => {
      tidemark.events.on('committed', ({ partition, cause }) => {
        if (cause !== 'push') return;
        heard.push(ownerText(partition.owner));
        if (ownerText(partition.owner) === 'bob') resolve();
      });
    });
    afterCommitTo(store, 'south', async () => {
      await push('north', { v1: { a: 2 } });
      await push('north', { v1: { a: 1 } });
    });
    await tidemark.objects.move({ source: 'Visit', from: 'north', to: 'south', objects: ['v1'] });
    await push('west', { w1: { a: 1 } });
    await last;
    expect(heard).toEqual(['ada', 'bob']);
  });
});

describe('groups of a source module', () => {
  it('[GROUP-18] a module names the groups of a user at every pull, and a partition(user) is the case of one', async () => {
    const groups = new Map([['ada', ['north', 'south']]]);
    const asked: unknown[] = [];
    const unused = async () => Promise.reject(new Error('not used'));
    const adapter: Adapter = {
      ...{ create: unused, update: unused, delete: unused },
      query: async (call) => {
        asked.push(call);
        return { objects: { [`of-${call.partition}`]: { a: 1 } } };
      },
      groups: async ({ user }) => groups.get(user) ?? [],
    };
    const { ada, tidemark } = await setUp(adapter);
    await tidemark.groups.set('ada', ['elsewhere']);
    await ada.pull();
    expect(ada.ids).toEqual(['of-north', 'of-south']);
    expect(asked).toContainEqual({ source: 'Visit', user: null, partition: 'north' });
    groups.set('ada', ['south']);
    await ada.pull();
    expect(ada.ids).toEqual(['of-south']);
    expect(await tidemark.sources.memberships.members(groupPartition('Visit', 'south'), { limit: 9 })).toEqual(['ada']);
    adapter.groups = async () => ['bad\nname'];
    const { pages } = await tidemark.devices.pull(ada.id, { sources: new Map([['Visit', { groups: new Map() }]]) });
    expect(pages[0]?.page).toMatchObject({ error: { code: 'backend_error' } });
    delete adapter.groups;
    adapter.partition = async () => 'west';
    await ada.pull();
    expect(ada.ids).toEqual(['of-west']);
    await tidemark.users.delete('ada');
    expect(await tidemark.sources.memberships.members(groupPartition('Visit', 'west'), { limit: 9 })).toEqual([]);
  });
});
