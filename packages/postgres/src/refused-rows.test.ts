import { DEFAULT_LIMITS } from '@tidemark/protocol';
import { type Link, openLink, useServers } from '@tidemark/testing/postgres';
import { beforeEach, expect, it } from 'vitest';

const WAIT = { timeout: 120_000, interval: 30 };
const ROWS = 40;
/** Room for some of the rows of one user, and not for all. */
const SMALL_BYTES = 10_000;

/** The server looks at them with every write. */
const limits = { ...DEFAULT_LIMITS };
const servers = useServers({ limits });

beforeEach(() => {
  limits.userBytesMax = SMALL_BYTES;
});

/** A table with more rows of one user than the quota has room for, and a row of another user. */
async function open(): Promise<Link> {
  const link = await openLink(
    servers(),
    [
      'CREATE TABLE tasks (id int PRIMARY KEY, login text, title text)',
      `INSERT INTO tasks SELECT n, '@ada', repeat('t', 1000) FROM generate_series(1, ${ROWS}) n`,
      `INSERT INTO tasks VALUES (100, '@bob', 'one')`,
    ],
    (own) => ({
      tables: { 'public.tasks': { source: own('Task'), owner: { user: 'login' }, columns: { title: 'title' } } },
    }),
  );
  await link.users('ada', 'bob');
  return link;
}

const kept = (link: Link) =>
  link.client.documents.objects({ source: `tidemark.postgres.${link.name}`, group: 'problems' });

const all = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${n + 1}`, { title: 't'.repeat(1000) }]));

it('[PG-339] rows that a quota has refused arrive by themselves when it is raised, although nothing changes them', async () => {
  const link = await open();
  link.start();
  await link.copied();
  await link.holds({ Task: { ada: {}, bob: { 100: { title: 'one' } } } });
  expect((await kept(link)).size).toBe(ROWS);
  const { objects } = await kept(link);
  expect(objects[0]?.attributes.reason).toMatch(/bytes allowed.*it is tried again every few minutes/);
  // It is tried again, and refused again.
  await expect.poll(() => link.problems.length, WAIT).toBeGreaterThanOrEqual(2 * ROWS);
  limits.userBytesMax = DEFAULT_LIMITS.userBytesMax;
  await link.holds({ Task: { ada: all(ROWS), bob: { 100: { title: 'one' } } } });
  await expect.poll(async () => (await kept(link)).size, WAIT).toBe(0);
});

it('[PG-339] rows that were too many to be noted arrive as well, also after a restart', async () => {
  const link = await open();
  const refusedMax = ROWS / 4;
  link.start({ refusedMax });
  await link.copied();
  expect((await kept(link)).size).toBe(refusedMax);
  await link.stop();
  limits.userBytesMax = DEFAULT_LIMITS.userBytesMax;
  link.start({ refusedMax });
  await link.holds({ Task: { ada: all(ROWS), bob: { 100: { title: 'one' } } } });
  await expect.poll(async () => (await kept(link)).size, WAIT).toBe(0);
});

it('[PG-74] a key that cannot be an object id, because it has a tab, is reported and holds up no other row', async () => {
  const link = await openLink(
    servers(),
    [
      'CREATE TABLE wares (id text PRIMARY KEY, name text)',
      `INSERT INTO wares VALUES (E'a\\tb', 'tab'), ('c', 'rope')`,
    ],
    (own) => ({ tables: { 'public.wares': { source: own('Ware'), owner: 'shared' } } }),
  );
  link.start();
  await link.copied();
  await link.holds({ Ware: { shared: { c: { name: 'rope' } } } });
  expect(link.problems).toEqual([
    { table: 'public.wares', key: 'a\tb', reason: 'its key contains a control character' },
  ]);
  await link.sql(`DELETE FROM wares WHERE id <> 'c'`);
  await expect.poll(async () => (await kept(link)).size, WAIT).toBe(0);
});
