import { openLink, useServers } from '@tidemark/testing/postgres';
import { expect, it } from 'vitest';

const servers = useServers();
const HEAP_BYTES_MAX = 300_000_000;

it('[PG-287] a transaction of a million changes, half a gigabyte of them, is applied within 300 MB of heap', async () => {
  const link = await openLink(
    servers(),
    [
      'CREATE TABLE wares (id int PRIMARY KEY, round int, body text)',
      `INSERT INTO wares SELECT n, 0, repeat('b', 500) FROM generate_series(1, 1000) n`,
    ],
    (own) => ({ tables: { 'public.wares': { source: own('Ware'), owner: 'shared' } } }),
  );
  link.start();
  await link.copied();
  const before = process.memoryUsage().heapUsed;
  let peak = before;
  const changing = link.sql(
    `DO $$ BEGIN FOR i IN 1..1000 LOOP UPDATE wares SET round = i, body = repeat(chr(97 + i % 26), 500); END LOOP; END $$`,
  );
  const rounds = async () => {
    peak = Math.max(peak, process.memoryUsage().heapUsed);
    const { objects } = await link.client.documents.objects(
      { source: link.own('Ware'), shared: true },
      { limit: 1_000 },
    );
    return [objects.length, new Set(objects.map(({ attributes }) => attributes.round))];
  };
  await expect.poll(rounds, { timeout: 500_000, interval: 20 }).toEqual([1_000, new Set([1_000])]);
  await changing;
  expect(peak - before).toBeLessThan(HEAP_BYTES_MAX);
});
