import { Refusal } from '@tidemark/protocol';
import { newTidemark, refusalOf, type TestTidemark } from '@tidemark/testing';
import { beforeEach, expect, it } from 'vitest';
import { groupPartition } from '../ports/owner.ts';

const DEVICE = { user: 'ada', client: 'c1' };

let test: TestTidemark;
/** What the device holds: its tokens by group. */
let tokens: Map<string, string>;

beforeEach(async () => {
  test = await newTidemark();
  tokens = new Map();
  await test.tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
  await test.tidemark.groups.add('ada', ['north']);
  await test.tidemark.clients.register('ada', { client_id: 'c1' });
  await push({ a: { n: 1 } });
  await pull();
  await pull();
});

const push = (objects: object) => test.tidemark.objects.push({ source: 'Visit', group: 'north', objects });
const receipt = () => test.tidemark.receipts.read({ source: 'Visit', group: 'north' });
const explained = () => test.tidemark.delivery.explain('c1', 'Visit', 'a', 'north');

/** Pulls all groups as a device does. With `isLost`, the answer does not arrive. Returns the groups that are gone. */
async function pull({ isLost = false } = {}): Promise<readonly string[]> {
  const answer = await test.tidemark.devices.pull(DEVICE, {
    sources: new Map([['Visit', { groups: new Map(tokens) }]]),
  });
  await answer.noted;
  const { gone } = answer.grouped[0] ?? { gone: [] };
  if (isLost) return gone;
  for (const group of gone) tokens.delete(group);
  for (const { group, page } of answer.pages) if (group !== null && 'token' in page) tokens.set(group, page.token);
  return gone;
}

it('[RECEIPT-7] a device that removed the data of a group holds nothing of it when its user has joined again', async () => {
  expect(await receipt()).toMatchObject({ devices: 1, delivered: 1, behind: 0 });
  await test.tidemark.groups.remove('ada', ['north']);
  expect(await pull()).toEqual(['north']);
  await test.tidemark.groups.add('ada', ['north']);
  expect(await receipt()).toMatchObject({
    ...{ devices: 1, delivered: 0, behind: 1, never_synced: 0 },
    behind_devices: [{ client_id: 'c1', acknowledged: null, missing: 1 }],
  });
  expect(await explained()).toMatchObject({ verdict: 'starting_over', evidence: { acknowledged: null } });
  expect(await test.tidemark.receipts.isCaughtUp('ada', 'c1', ['Visit'])).toBe(false);
  await pull();
  expect(await explained()).toMatchObject({ verdict: 'unconfirmed' });
  await pull();
  expect(await receipt()).toMatchObject({ delivered: 1, behind: 0 });
  expect(await explained()).toMatchObject({ verdict: 'current' });
});

it('[RECEIPT-7] a device that was not told, or did not hear, that its user had left still holds the data', async () => {
  await test.tidemark.groups.remove('ada', ['north']);
  await test.tidemark.groups.add('ada', ['north']);
  expect(await receipt()).toMatchObject({ delivered: 1, behind: 0 });
  await test.tidemark.groups.remove('ada', ['north']);
  expect(await pull({ isLost: true })).toEqual(['north']);
  await test.tidemark.groups.add('ada', ['north']);
  expect(await receipt()).toMatchObject({ delivered: 0, behind: 1 });
  await pull();
  expect(await receipt()).toMatchObject({ delivered: 1, behind: 0 });
});

it('[EXPLAIN-10] a device of a user who has left the group gets nothing of it, by any explanation', async () => {
  await test.tidemark.groups.remove('ada', ['north']);
  const held = await explained();
  expect(held).toMatchObject({
    verdict: 'other_partition',
    sentence: `The user is not a member of the group "north", so the device does not get object "a" of "Visit", and removes what it has of the group at its next pull; it was last seen at ${held.evidence.last_contact}.`,
    remedy: 'Check in the backend which partition or groups the user belongs to.',
  });
  await pull();
  await push({ a: { n: 2 } });
  expect(await explained()).toMatchObject({ verdict: 'other_partition' });
  expect(await refusalOf(test.tidemark.delivery.pending('c1', 'Visit', 'north'))).toBe('not_a_member');
  await test.tidemark.groups.add('ada', ['north']);
  expect(await explained()).toMatchObject({ verdict: 'starting_over' });
  expect(JSON.parse(await test.tidemark.delivery.pending('c1', 'Visit', 'north'))).toMatchObject({
    put: { a: { n: 2 } },
  });
});

it('[RECEIPT-8] a device that has erased itself is counted as one that never synchronised', async () => {
  await test.tidemark.objects.push({ source: 'Product', objects: { p: { n: 1 } } });
  const products = () => test.tidemark.receipts.read({ source: 'Product' });
  const mine = () => test.tidemark.receipts.read({ source: 'Product', user_id: 'ada' });
  for (let token: string | null = null, round = 0; round < 2; round++) {
    const answer = await test.tidemark.devices.pull(DEVICE, { sources: new Map([['Product', token]]) });
    await answer.noted;
    const page = answer.pages[0]?.page;
    token = page !== undefined && 'token' in page ? page.token : null;
  }
  for (const read of [receipt, products, mine]) expect(await read()).toMatchObject({ devices: 1, delivered: 1 });
  await test.tidemark.clients.wipes.order('c1', 'root');
  for (const read of [receipt, products, mine]) expect(await read()).toMatchObject({ devices: 1, delivered: 1 });
  // If what it had acknowledged cannot be voided, it is not recorded as erased, and confirms again.
  const { noteTidemark } = test.store;
  test.store.noteTidemark = () => Promise.reject(new Refusal('store_unavailable', 'the store is away'));
  expect(await refusalOf(test.tidemark.clients.wipes.confirm('ada', 'c1', 0))).toBe('store_unavailable');
  test.store.noteTidemark = noteTidemark;
  await test.tidemark.clients.wipes.confirm('ada', 'c1', 0);
  for (const read of [receipt, products, mine]) {
    expect(await read()).toMatchObject({ devices: 1, delivered: 0, behind: 0, never_synced: 1, behind_devices: [] });
  }
});

it('[EXPLAIN-11] without a group, an object is looked for in all groups of the user', async () => {
  const find = async (object: string) => {
    const { verdict, evidence } = await test.tidemark.delivery.explain('c1', 'Visit', object);
    return [verdict, evidence.group];
  };
  expect(await find('a')).toEqual(['current', 'north']);
  await test.tidemark.groups.add('ada', ['east', 'south']);
  await test.tidemark.objects.push({ source: 'Visit', group: 'south', objects: { s: { n: 1 }, gone: { n: 1 } } });
  await test.tidemark.objects.pushDeletes({ source: 'Visit', group: 'south', objects: ['gone'] });
  expect(await find('a')).toEqual(['current', 'north']);
  expect(await find('s')).toEqual(['pending', 'south']);
  expect(await find('gone')).toEqual(['deletion_pending', 'south']);
  expect(await find('nowhere')).toEqual(['never_existed', 'east']);
  expect(await refusalOf(test.tidemark.delivery.pending('c1', 'Visit'))).toBe('group_required');
  await test.tidemark.groups.remove('ada', ['north', 'east', 'south']);
  expect(await refusalOf(test.tidemark.delivery.explain('c1', 'Visit', 'a'))).toBe('group_required');
});

it('[EXPLAIN-15] without a group, an object that is nowhere may have been in the group whose tombstones were trimmed', async () => {
  const find = async (object: string) => {
    const { verdict, evidence } = await test.tidemark.delivery.explain('c1', 'Visit', object);
    return [verdict, evidence.group];
  };
  await test.tidemark.groups.add('ada', ['east', 'south']);
  await test.tidemark.objects.push({ source: 'Visit', group: 'south', objects: { gone: { n: 1 } } });
  await test.tidemark.objects.pushDeletes({ source: 'Visit', group: 'south', objects: ['gone'] });
  await test.store.trim(groupPartition('Visit', 'south'), 100);
  // East comes first, and has never held anything.
  expect(await find('gone')).toEqual(['trimmed_or_never_existed', 'south']);
  await test.tidemark.objects.push({ source: 'Visit', group: 'north', objects: { moved: { n: 1 } } });
  await test.tidemark.objects.pushDeletes({ source: 'Visit', group: 'north', objects: ['moved'] });
  expect(await find('moved')).toEqual(['deletion_pending', 'north']);
  // A tombstone that is there says more than one that may have been, also in a group that comes later.
  await test.tidemark.groups.add('ada', ['west']);
  await test.tidemark.objects.push({ source: 'Visit', group: 'west', objects: { left: { n: 1 } } });
  await test.tidemark.objects.pushDeletes({ source: 'Visit', group: 'west', objects: ['left'] });
  expect(await find('left')).toEqual(['deletion_pending', 'west']);
});

it('[EXPLAIN-12] without a group, the next page is that of the only group of the user', async () => {
  await push({ b: { n: 2 } });
  const page = JSON.parse(await test.tidemark.delivery.pending('c1', 'Visit')) as { readonly put: unknown };
  expect(page.put).toEqual({ b: { n: 2 } });
});
