import { openLink, type Tables, useServers } from '@tidemark/testing/postgres';
import { describe, expect, it } from 'vitest';

const servers = useServers();
const WAIT = { timeout: 120_000, interval: 30 };

const TASKS = 'CREATE TABLE tasks (id int PRIMARY KEY, login text, title text)';
const taskMapping = (own: (name: string) => string): Tables => ({
  tables: { 'public.tasks': { source: own('Task'), owner: { user: 'login' }, columns: { title: 'title' } } },
});

describe('users, members and rows that cannot be stored', () => {
  it('[PG-71] the rows of a table of members put users into groups and take them out again', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE visits (id int PRIMARY KEY, crew text, place text)',
        'CREATE TABLE crews (id int PRIMARY KEY, login text, crew text)',
        `INSERT INTO crews VALUES (1, '@ada', '@north'), (2, '@bob', '@north'), (3, '@ada', '@south')`,
      ],
      (own) => ({
        tables: { 'public.visits': { source: own('Visit'), owner: { group: 'crew' } } },
        members: { 'public.crews': { user: 'login', group: 'crew' } },
      }),
    );
    await link.users('ada', 'bob');
    const [north, south] = [link.own('north'), link.own('south')];
    const groups = async () => {
      const of = async (name: string) => [...(await link.client.groups.of(link.own(name))).groups].sort();
      return [await of('ada'), await of('bob')];
    };
    link.start();
    await expect.poll(groups, WAIT).toEqual([[north, south], [north]]);
    await link.copied();
    await link.sql(`INSERT INTO crews VALUES (4, '${link.own('bob')}', '${north}')`);
    await link.sql(
      `DELETE FROM crews WHERE id IN (1, 2)`,
      `UPDATE crews SET login = '${link.own('bob')}' WHERE id = 3`,
    );
    // Another row still makes Bob a member of north.
    await expect.poll(groups, WAIT).toEqual([[], [north, south]]);
    await link.sql('TRUNCATE crews');
    await expect.poll(groups, WAIT).toEqual([[], []]);
  });

  it('[PG-72] the rows of a table of users become users, whose rows follow; users whom others have created stay', async () => {
    const link = await openLink(
      servers(),
      [
        TASKS,
        'CREATE TABLE people (id int PRIMARY KEY, login text, full_name text)',
        `INSERT INTO people VALUES (1, '@ada', 'Ada'), (2, '@eve', 'Eve')`,
        `INSERT INTO tasks VALUES (1, '@ada', 'a'), (2, '@bob', 'b')`,
      ],
      (own) => ({
        ...taskMapping(own),
        users: { 'public.people': { login: 'login', attributes: { full_name: 'name' } } },
      }),
    );
    await link.users('eve');
    link.start();
    await link.holds({ Task: { ada: { 1: { title: 'a' } }, bob: {} } });
    await link.copied();
    await link.sql(`INSERT INTO people VALUES (3, '${link.own('bob')}', 'Bob')`);
    await link.holds({ Task: { bob: { 2: { title: 'b' } } } });
    await link.sql(`UPDATE people SET full_name = 'Ada L.' WHERE id = 1`);
    const name = async () => (await link.client.users.get(link.own('ada'))) as unknown as Record<string, unknown>;
    await expect.poll(name, WAIT).toMatchObject({ attributes: { name: 'Ada L.' } });
    await link.sql('DELETE FROM people');
    const exists = async (login: string) =>
      link.client.users.get(link.own(login)).then(
        () => true,
        () => false,
      );
    await expect.poll(() => Promise.all(['ada', 'bob', 'eve'].map(exists)), WAIT).toEqual([false, false, true]);
  });

  it('[PG-73] rows of a user who does not exist wait, and are delivered when somebody creates the user', async () => {
    const link = await openLink(
      servers(),
      [
        TASKS,
        `INSERT INTO tasks SELECT n, CASE WHEN n % 2 = 0 THEN '@ada' ELSE '@late' END, 't' || n FROM generate_series(1, 6) n`,
      ],
      taskMapping,
    );
    await link.users('ada');
    link.start();
    await link.holds({ Task: { ada: { 2: { title: 't2' }, 4: { title: 't4' }, 6: { title: 't6' } } } });
    await link.copied();
    await link.sql(`UPDATE tasks SET title = 'changed' WHERE id = 1`, `DELETE FROM tasks WHERE id = 3`);
    await link.users('late');
    await link.holds({ Task: { late: { 1: { title: 'changed' }, 5: { title: 't5' } } } });
    await link.sql(`UPDATE tasks SET login = '${link.own('late')}' WHERE id = 2`);
    await link.holds({
      Task: {
        ada: { 4: { title: 't4' }, 6: { title: 't6' } },
        late: { 1: { title: 'changed' }, 2: { title: 't2' }, 5: { title: 't5' } },
      },
    });
  });

  it('[PG-74] a row that Tidemark cannot store is reported and counted, holds up no other, and is stored when it can be', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE wares (id text PRIMARY KEY, name text)',
        `INSERT INTO wares SELECT 'w' || n, 'name' FROM generate_series(1, 20) n`,
        `INSERT INTO wares VALUES (repeat('k', 600), 'long key'), ('w5x', repeat('v', 11000000))`,
      ],
      (own) => ({ tables: { 'public.wares': { source: own('Ware'), owner: 'shared' } } }),
    );
    const wares: Record<string, Record<string, unknown>> = Object.fromEntries(
      Array.from({ length: 20 }, (_, n) => [`w${n + 1}`, { name: 'name' }]),
    );
    link.start();
    await link.copied();
    await link.holds({ Ware: { shared: wares } });
    expect(new Set(link.problems.map(({ table, key }) => `${table} ${key.slice(0, 5)}`))).toEqual(
      new Set(['public.wares kkkkk', 'public.wares w5x']),
    );
    const kept = async () =>
      (await link.client.documents.objects({ source: `tidemark.postgres.${link.name}`, group: 'problems' })).size;
    expect(await kept()).toBe(2);
    await link.sql(`UPDATE wares SET name = 'small' WHERE id = 'w5x'`, `DELETE FROM wares WHERE name = 'long key'`);
    await link.holds({ Ware: { shared: { ...wares, w5x: { name: 'small' } } } });
    await expect.poll(kept, WAIT).toBe(0);
  });

  it('[PG-348] a membership that cannot be made is reported with its row, and the others of the user are made', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE visits (id int PRIMARY KEY, crew text)',
        'CREATE TABLE crews (id int PRIMARY KEY, login text, crew text)',
        // One more than a user can have.
        `INSERT INTO crews SELECT n, '@ada', '@' || to_char(n, 'FM0000') FROM generate_series(1, 1001) n`,
      ],
      (own) => ({
        tables: { 'public.visits': { source: own('Visit'), owner: { group: 'crew' } } },
        members: { 'public.crews': { user: 'login', group: 'crew' } },
      }),
    );
    await link.users('ada');
    link.start();
    await link.copied();
    const count = async () => (await link.client.groups.of(link.own('ada'))).groups.length;
    const kept = async () =>
      (await link.client.documents.objects({ source: `tidemark.postgres.${link.name}`, group: 'problems' })).size;
    await expect.poll(count, WAIT).toBe(1_000);
    expect([await kept(), new Set(link.problems.map(({ table, key }) => `${table} ${key}`))]).toEqual([
      1,
      new Set(['public.crews 1001']),
    ]);
    await link.sql('DELETE FROM crews WHERE id = 1001');
    await expect.poll(kept, WAIT).toBe(0);
    expect(await count()).toBe(1_000);
  });
});
