import { TidemarkClient } from '@tidemark/backend';
import { startTestServer } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';
import { hiddenSource, readNamed } from './hidden-source.ts';

it('[PG-333] named rows are looked up in calls whose address is short enough, whatever their ids are written in', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const client = new TidemarkClient(server);
  const source = hiddenSource('field');
  await client.sources.declare({ name: source, partition_type: 'group' });
  const partition = { source, group: 'public.orders' };
  const short = Array.from({ length: 1_200 }, (_, index) => String(index));
  const long = Array.from({ length: 300 }, (_, index) => `${'заказ'.repeat(20)} ${index}`);
  const ids = [...short, ...long, 'x'.repeat(512)];
  await client.push.objects(source, Object.fromEntries(ids.map((id) => [id, { owner: 'north' }])), {
    group: partition.group,
  });
  const found = await readNamed(client, partition, [...ids, 'gone']);
  expect([...found.keys()].sort()).toEqual([...ids].sort());
});
