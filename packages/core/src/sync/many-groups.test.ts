import { newTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { groupPartition } from '../ports/owner.ts';

const GROUPS = ['east', 'north', 'south'];

/** A device in three groups that has caught up, with the tokens that it holds and has not presented. */
async function setUp() {
  const { tidemark, store } = await newTidemark();
  await tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
  await tidemark.groups.set('ada', GROUPS);
  for (const group of GROUPS) {
    await tidemark.objects.push({ source: 'Visit', group, objects: { [`of-${group}`]: { a: 1 } } });
  }
  const device = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
  const { pages, noted } = await tidemark.devices.pull(device, {
    sources: new Map([['Visit', { groups: new Map() }]]),
  });
  await noted;
  const tokens = new Map(pages.flatMap(({ group, page }) => ('error' in page ? [] : [[group ?? '', page.token]])));
  const bases = () =>
    Promise.all(
      GROUPS.map(async (group) => (await store.readTidemark(groupPartition('Visit', group), device.client))?.base),
    );
  expect([[...tokens.keys()], await bases()]).toEqual([GROUPS, [null, null, null]]);
  return { tidemark, device, tokens, bases };
}

describe('a device in several groups', () => {
  it('[DEVICE-14] acknowledges the tokens of all of them in one call', async () => {
    const { tidemark, device, tokens, bases } = await setUp();
    expect(await tidemark.devices.acknowledge(device, new Map([['Visit', tokens]]))).toEqual(['Visit']);
    expect(await bases()).toEqual([1, 1, 1]);
  });

  it('[GROUP-25] acknowledges all tokens that it presents beside a set token that is not known', async () => {
    const { tidemark, device, tokens, bases } = await setUp();
    const sources = new Map([['Visit', { groups: tokens, set: 'unknown' }]]);
    const { grouped, noted } = await tidemark.devices.pull(device, { sources });
    await noted;
    expect(grouped).toEqual([{ source: 'Visit', gone: [], changed: [], setToken: null, more: true }]);
    expect(await bases()).toEqual([1, 1, 1]);
  });

  it('[RECEIPT-2] has acknowledged nothing in any of them after it was told to start over', async () => {
    const { tidemark, device, tokens, bases } = await setUp();
    await tidemark.devices.acknowledge(device, new Map([['Visit', tokens]]));
    await tidemark.devices.restart(device, ['Visit']);
    expect(await bases()).toEqual([null, null, null]);
  });

  it('[DEVICE-14] has the objects of all of them in its document cd', async () => {
    const { tidemark, device, tokens } = await setUp();
    await tidemark.devices.acknowledge(device, new Map([['Visit', tokens]]));
    const objects = await tidemark.devices.acknowledgedObjects(device, 'Visit');
    expect([...objects.keys()]).toEqual(['of-east', 'of-north', 'of-south']);
  });

  it('[UPLOAD-7] is not answered as before when it acknowledges outcomes', async () => {
    const { tidemark, device, tokens } = await setUp();
    const sources = new Map([['Visit', { groups: tokens }]]);
    expect((await tidemark.devices.pull(device, { sources })).isUnchanged).toBeInstanceOf(Function);
    const acknowledged = new Map([['Visit', new Map([['north', ['op-1']]])]]);
    expect((await tidemark.devices.pull(device, { sources, acknowledged })).isUnchanged).toBeUndefined();
  });
});
