import { newTidemark } from '@tidemark/testing';
import { expect, it } from 'vitest';
import type { Adapter } from '../ports/adapter.ts';

const unused = async () => {
  throw new Error('nobody uploads here');
};
const UNUSED = { create: unused, update: unused, delete: unused };

it('[EXPLAIN-66] an object of a partition that the user was moved from is explained by the move', async () => {
  let team = 'north';
  const adapter: Adapter = { partition: async () => team, query: async () => ({ objects: {} }), ...UNUSED };
  const { tidemark } = await newTidemark({ adapters: { find: (name) => (name === 'Visit' ? adapter : null) } });
  await tidemark.sources.declare({ name: 'Visit', adapter: 'Visit', poll_interval: -1 });
  await tidemark.clients.register('ada', { client_id: 'c1' });
  await tidemark.objects.push({ source: 'Visit', user_id: 'ada', objects: { n1: { a: 1 } } });
  const verdict = async (object: string) => (await tidemark.delivery.explain('c1', 'Visit', object)).verdict;
  expect(await verdict('n1')).toBe('never_synced');
  team = 'south';
  await tidemark.objects.push({ source: 'Visit', user_id: 'ada', objects: { s1: { a: 1 } } });
  expect([await verdict('n1'), await verdict('s1'), await verdict('x')]).toEqual([
    'other_partition',
    'never_synced',
    'never_existed',
  ]);
});
