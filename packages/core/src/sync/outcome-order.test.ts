import type { Page } from '@tidemark/protocol';
import { newTidemark, openMemoryStore, seededRandom } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { pageJson } from '../pages/render-page.ts';
import type { Adapter } from '../ports/adapter.ts';
import type { Store } from '../ports/store.ts';

/** A store that calls a function between the first reads of two kinds. */
function betweenReads(store: Store) {
  let first: PropertyKey | null = null;
  let happen: (() => Promise<unknown>) | null = null;
  const wrapped = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      if (name !== 'listNotes' && name !== 'partition') return member.bind(target);
      return async (...args: unknown[]) => {
        const happening = first !== null && first !== name ? happen : null;
        if (happen !== null) first ??= name;
        if (happening !== null) {
          happen = null;
          await happening();
        }
        return Reflect.apply(member, target, args) as unknown;
      };
    },
  });
  const arm = (next: () => Promise<unknown>) => {
    happen = next;
  };
  return { wrapped, arm, isSpent: () => happen === null };
}

describe('outcomes and pages of one answer', () => {
  it.each(['Order', 'Stock'])(
    '[DEVICE-13] a page of %s includes the effects of the outcomes beside it',
    async (source) => {
      const { wrapped, arm, isSpent } = betweenReads(openMemoryStore({ random: seededRandom(1) }));
      const nothing = async () => undefined;
      const adapter: Adapter = {
        query: async () => ({ objects: {} }),
        create: async () => 'made',
        update: nothing,
        delete: nothing,
      };
      const { tidemark } = await newTidemark({ store: wrapped, adapters: { find: () => adapter } });
      await tidemark.sources.declare({ name: 'Stock', partition_type: 'user', adapter: 'backend', poll_interval: -1 });
      const device = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
      await tidemark.sources.view(source);
      const changes = [{ op_id: 'op', source, op: 'create' as const, id: 'made', attributes: { n: 1 } }];
      arm(() => tidemark.devices.push(device, { changes }));
      const { pages, outcomes } = await tidemark.devices.pull(device, { sources: new Map([[source, null]]) });
      expect(isSpent()).toBe(true);
      const page = pages[0]?.page;
      if (page === undefined || 'error' in page) throw new Error('no page');
      const { put = {} } = JSON.parse(pageJson(page.token, page.body)) as Page;
      expect([outcomes, Object.keys(put)]).toEqual([[], ['made']]);
      const next = await tidemark.devices.pull(device, { sources: new Map([[source, null]]) });
      expect(next.outcomes).toMatchObject([{ op_id: 'op', status: 'applied', id: 'made' }]);
    },
  );

  it('[SYNC-17] a pull is not answered as before when an outcome waits that has changed no object', async () => {
    const { tidemark } = await newTidemark();
    const device = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
    await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { x: { n: 1 } } });
    const pull = (token: string | null) => tidemark.devices.pull(device, { sources: new Map([['Order', token]]) });
    const page = (await pull(null)).pages[0]?.page;
    if (page === undefined || 'error' in page) throw new Error('no page');
    await (await pull(page.token)).noted;
    const { isUnchanged } = await pull(page.token);
    expect(await isUnchanged?.()).toBe(true);
    const taken = { op_id: 'op', source: 'Order', op: 'create' as const, id: 'x', attributes: { n: 2 } };
    expect(await tidemark.devices.push(device, { changes: [taken] })).toMatchObject([{ status: 'rejected' }]);
    expect(await isUnchanged?.()).toBe(false);
  });
});
