import { TidemarkError } from '@tidemark/backend';
import { type Link, openLink, useServers } from '@tidemark/testing/postgres';
import { describe, expect, it } from 'vitest';

const servers = useServers();
const WAIT = { timeout: 120_000, interval: 30 };

const LOGINS = ['ada', 'bo', 'eve'];
const GROUPS = ['north', 'south'];
const PEOPLE = [
  'CREATE TABLE people (id int PRIMARY KEY, login text, crew text, name text)',
  `INSERT INTO people VALUES (1, '@ada', '@north', 'Ada'), (2, '@bo', '@south', 'Bo')`,
];
const OBJECTS = (own: (name: string) => string) => ({
  'public.people': { source: own('Person'), owner: { group: 'crew' }, columns: { name: 'name' } },
});
const MEMBERS = { 'public.people': { user: 'login', group: 'crew' } };
const USERS = { 'public.people': { login: 'login', attributes: { name: 'name' } } };

/** Each of these logins with the name and the groups of the user; null: there is no such user. */
async function peopleOf(link: Link) {
  link.throwFailure();
  const { client } = link;
  const bare = (text: string) => text.replace(`_${link.name}`, '');
  const entries = LOGINS.map(async (login) => {
    try {
      const { attributes } = await client.users.get(link.own(login));
      const { groups } = await client.groups.of(link.own(login));
      return [login, { name: attributes.name, groups: groups.map(bare) }] as const;
    } catch (error) {
      if (error instanceof TidemarkError && error.status === 404) return [login, null] as const;
      throw error;
    }
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function matches(link: Link): Promise<void> {
  const rows = await link.database.sql.unsafe('SELECT login, crew, name FROM people ORDER BY id');
  const bare = (text: unknown) => String(text).replace(`_${link.name}`, '');
  const wanted = Object.fromEntries(
    LOGINS.map((login) => {
      const row = rows.find((one) => bare(one.login) === login);
      return [login, row === undefined ? null : { name: row.name, groups: [bare(row.crew)] }];
    }),
  );
  await expect.poll(() => peopleOf(link), WAIT).toEqual(wanted);
  await link.equals(
    'Person',
    GROUPS,
    `SELECT replace(crew, '_${link.name}', '') AS owner, id, json_build_object('name', name) AS attributes FROM people`,
  );
}

describe('a table that stands in several sections of the mapping', () => {
  it('[PG-351] the rows of a table that makes users, members and objects become all of these, and all follow its changes', async () => {
    const link = await openLink(servers(), PEOPLE, (own) => ({ tables: OBJECTS(own), members: MEMBERS, users: USERS }));
    link.start();
    await link.copied();
    await matches(link);
    await link.sql(
      `INSERT INTO people VALUES (3, '${link.own('eve')}', '${link.own('south')}', 'Eve')`,
      `UPDATE people SET crew = '${link.own('south')}', name = 'Ada L.' WHERE id = 1`,
      'DELETE FROM people WHERE id = 2',
    );
    await matches(link);
    await link.sql(
      'TRUNCATE people',
      `INSERT INTO people VALUES (4, '${link.own('ada')}', '${link.own('north')}', 'A')`,
    );
    await matches(link);
    await link.copied();
    await matches(link);
  });

  it('[PG-351] a table is copied for a section that it is added to, and leaves one that it is taken out of, while the others stay', async () => {
    const link = await openLink(servers(), PEOPLE, () => ({ tables: {}, members: {}, users: {} }));
    const objects = OBJECTS((name) => link.own(name));
    const tables = { 'public.people': objects['public.people'] };
    await link.users('ada', 'bo');
    link.start({}, { tables, members: MEMBERS });
    await link.copied();
    await link.stop();
    link.start({}, { tables, members: MEMBERS, users: USERS });
    await matches(link);
    await link.stop();
    link.start({}, { tables, users: USERS });
    const groups = async () => Object.values(await peopleOf(link)).map((one) => one?.groups ?? null);
    await expect.poll(groups, WAIT).toEqual([[], [], null]);
    await link.stop();
    link.start({}, { tables, members: MEMBERS, users: USERS });
    await link.sql(`UPDATE people SET name = 'B' WHERE id = 2`);
    await matches(link);
  });
});
