import { openLink, useServers } from '@tidemark/testing/postgres';
import { expect, it } from 'vitest';

const servers = useServers();
const WAIT = { timeout: 120_000, interval: 30 };
const PARENTS = 12;
/** Fewer than there are parents and users to wait for. */
const WAITING_MAX = 3;
const USERS = ['u1', 'u2', 'u3', 'u4', 'u5', 'u6', 'u7', 'u8'];

it('[PG-340] rows that wait for more parents and users than are kept in memory are all delivered, also after a restart', async () => {
  const link = await openLink(
    servers(),
    [
      'CREATE TABLE orders (id int PRIMARY KEY, depot text)',
      'CREATE TABLE lines (id int PRIMARY KEY, order_id int, ware text)',
      'CREATE TABLE tasks (id int PRIMARY KEY, login text, title text)',
      `INSERT INTO lines SELECT n, n, 'w' FROM generate_series(1, ${PARENTS}) n`,
      ...USERS.map((user, n) => `INSERT INTO tasks VALUES (${n + 1}, '@${user}', 't')`),
    ],
    (own) => ({
      tables: {
        'public.orders': { source: own('Order'), owner: { group: 'depot' }, columns: {} },
        'public.lines': {
          ...{ source: own('Line'), columns: { ware: 'ware' } },
          owner: { through: ['order_id'], parent: 'public.orders' },
        },
        'public.tasks': { source: own('Task'), owner: { user: 'login' }, columns: { title: 'title' } },
      },
    }),
  );
  const waiting = async () =>
    (await link.client.documents.objects({ source: `tidemark.postgres.${link.name}`, group: 'waiting' })).size;
  const lines = (from: number, to: number) =>
    Object.fromEntries(Array.from({ length: to - from + 1 }, (_, n) => [`${from + n}`, { ware: 'w' }]));
  link.start({ waitingMax: WAITING_MAX });
  await link.copied();
  await expect.poll(waiting, WAIT).toBe(PARENTS + USERS.length);
  await link.sql(`INSERT INTO orders SELECT n, '${link.own('north')}' FROM generate_series(1, ${PARENTS / 2}) n`);
  await link.holds({ Line: { north: lines(1, PARENTS / 2) } });
  await link.stop();
  await link.users('u8', 'u1');
  link.start({ waitingMax: WAITING_MAX });
  await link.holds({ Task: { u8: { 8: { title: 't' } }, u1: { 1: { title: 't' } } } });
  await link.sql(
    `INSERT INTO orders SELECT n, '${link.own('north')}' FROM generate_series(${PARENTS / 2 + 1}, ${PARENTS}) n`,
  );
  await link.holds({ Line: { north: lines(1, PARENTS) } });
  await link.users(...USERS.slice(1, -1));
  await link.holds({ Task: Object.fromEntries(USERS.map((user, n) => [user, { [n + 1]: { title: 't' } }])) });
  await expect.poll(waiting, WAIT).toBe(0);
});
