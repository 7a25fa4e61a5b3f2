import { newTidemark } from '@tidemark/testing';
import { expect, it } from 'vitest';

const INTERNAL = 'tidemark.postgres.field';

it('[PG-336] the source in which a connector keeps what it must know is for no device, even of a group of the same name', async () => {
  const { tidemark } = await newTidemark();
  for (const name of [INTERNAL, 'Visit']) await tidemark.sources.declare({ name, partition_type: 'group' });
  const device = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
  const heard: string[] = [];
  tidemark.events.on('committed', ({ partition }) => heard.push(partition.source));
  await tidemark.groups.set('ada', ['waiting']);
  for (const source of [INTERNAL, 'Visit']) {
    await tidemark.objects.push({ source, group: 'waiting', objects: { secret: { login: 'bob' } } });
  }
  const names = (await tidemark.devices.sources()).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['Visit']));
  expect(names).not.toContain(INTERNAL);
  const sources = new Map([INTERNAL, 'Visit'].map((source) => [source, { groups: new Map() }]));
  const { pages } = await tidemark.devices.pull(device, { sources });
  expect(pages.map(({ source }) => source)).toEqual(['Visit']);
  // The membership and the push; those of the internal source were committed before the last one.
  await expect.poll(() => heard.filter((source) => source === 'Visit')).toHaveLength(2);
  expect(heard).not.toContain(INTERNAL);
});
