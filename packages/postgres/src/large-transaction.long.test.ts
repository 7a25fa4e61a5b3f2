import { openLink, useServers } from '@tidemark/testing/postgres';
import { expect, it } from 'vitest';

const servers = useServers();
const HEAP_BYTES_MAX = 300_000_000;
/** These end a test that hangs. It took 35 minutes on a machine with a load of 40 on two cores. */
const WAIT_MS_MAX = 5_400_000;
const TEST_MS_MAX = 2 * WAIT_MS_MAX;

it(
  '[PG-287] a transaction of a million changes, half a gigabyte of them, is applied within 300 MB of heap',
  async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE wares (id int PRIMARY KEY, round int, body text)',
        `INSERT INTO wares SELECT n, 0, repeat('b', 500) FROM generate_series(1, 2500) n`,
      ],
      (own) => ({ tables: { 'public.wares': { source: own('Ware'), owner: 'shared' } } }),
    );
    link.start();
    await link.copied();
    const before = process.memoryUsage().heapUsed;
    let peak = before;
    // Few rounds over many rows: within its transaction Postgres reads every old version of a row in each round.
    const changing = link.sql(
      `DO $$ BEGIN FOR i IN 1..400 LOOP UPDATE wares SET round = i, body = repeat(chr(97 + i % 26), 500); END LOOP; END $$`,
    );
    const partition = { source: link.own('Ware'), shared: true } as const;
    // One object, because to read all of them all the time would take longer than to write them.
    const round = async () => {
      peak = Math.max(peak, process.memoryUsage().heapUsed);
      const { objects } = await link.client.documents.objects(partition, { filter: { '@id': { in: ['2500'] } } });
      return objects[0]?.attributes.round;
    };
    await expect.poll(round, { timeout: WAIT_MS_MAX, interval: 20 }).toBe(400);
    await changing;
    const rounds = async () => {
      const { objects } = await link.client.documents.objects(partition, { limit: 1_000 });
      return new Set(objects.map(({ attributes }) => attributes.round));
    };
    await expect.poll(rounds).toEqual(new Set([400]));
    expect(peak - before).toBeLessThan(HEAP_BYTES_MAX);
  },
  TEST_MS_MAX,
);
