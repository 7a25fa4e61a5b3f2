import { collectingLog } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { groupPartition, ownerText } from '../ports/owner.ts';
import { MembershipChanges } from './membership-changes.ts';

const NEWS = { partition: groupPartition('Visit', 'a group'), cause: 'push' };
const settled = () => new Promise((resolve) => setImmediate(resolve));

it('[ADAPT-11] changes made while members are being notified cause one more notification of all members', async () => {
  const users = Array.from({ length: 2_500 }, (_, index) => `u${String(index).padStart(4, '0')}`);
  let lists = 0;
  const members = async (_: unknown, { after = '', limit }: { readonly after?: string; readonly limit: number }) => {
    lists++;
    return users.filter((user) => user > after).slice(0, limit);
  };
  const announced: unknown[] = [];
  const news = new MembershipChanges<typeof NEWS>({ members }, collectingLog(), ({ partition }) =>
    announced.push(ownerText(partition.owner)),
  );
  for (let count = 0; count < 100; count++) news.note(NEWS);
  await settled();
  expect([announced, lists]).toEqual([[...users, ...users], 6]);
  news.note(NEWS);
  await settled();
  expect(announced.length).toBe(3 * users.length);
});

it('[ADAPT-11] members are notified of the next change after listing them has failed once', async () => {
  const log = collectingLog();
  let isDown = true;
  const members = async () => {
    if (isDown) throw new Error('the store is away');
    return ['ada'];
  };
  const announced: unknown[] = [];
  const news = new MembershipChanges<typeof NEWS>({ members }, log, ({ partition }) =>
    announced.push(ownerText(partition.owner)),
  );
  news.note(NEWS);
  await settled();
  expect(log.lines).toMatchObject([{ event: 'members_not_told', fields: { source: 'Visit' } }]);
  isDown = false;
  news.note(NEWS);
  await settled();
  expect(announced).toEqual(['ada']);
});
