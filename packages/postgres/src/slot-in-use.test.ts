import { Connector, parseDatabaseUrl } from '@tidemark/postgres';
import { type Link, openLink, useServers } from '@tidemark/testing/postgres';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from './clock.ts';
import { ReplicationConnection } from './replication/replication-connection.ts';

const servers = useServers();
const WAIT = { timeout: 120_000, interval: 30 };
/** Longer than any test takes. */
const NEVER_MS = 3_600_000;

const open = () =>
  openLink(
    servers(),
    ['CREATE TABLE wares (id int PRIMARY KEY, name text)', `INSERT INTO wares VALUES (1, 'rope')`],
    (own) => ({ tables: { 'public.wares': { source: own('Ware'), owner: 'shared' } } }),
  );

/** Runs a connector that tries again and again, and collects why it had to. */
function runAgainst(link: Link, slotSilenceMs: number) {
  const reasons: string[] = [];
  const connector = new Connector({
    ...{ client: link.client, name: link.name, address: parseDatabaseUrl(link.database.url), slotSilenceMs },
    ...{ mapping: link.mapping, mappingFile: 'mapping.jsonc', heartbeatMs: 200 },
    events: { onState: (_, error) => (error === undefined ? undefined : reasons.push(error.message)) },
  });
  const run = connector.run();
  onTestFinished(async () => {
    await connector.stop();
    await run;
  });
  return reasons;
}

it('[PG-337] a slot that another connector uses is explained with who it is and how to end it, and is left to it', async () => {
  const link = await open();
  link.start();
  await link.copied();
  // The other one says every few seconds that it lives, so this is long enough for it.
  const reasons = runAgainst(link, NEVER_MS);
  await expect.poll(() => reasons.length, WAIT).toBeGreaterThan(1);
  const holder = new RegExp(
    `^the replication slot "slot_${link.name}" is in use by process \\d+ of Postgres of the role "\\w+", "tidemark ${link.name}", from 127\\.0\\.0\\.1: ` +
      `stop that connector, or end its connection with SELECT pg_terminate_backend\\(\\d+\\)`,
  );
  for (const reason of reasons) expect(reason).toMatch(holder);
  await link.sql(`INSERT INTO wares VALUES (2, 'hook')`);
  await link.holds({ Ware: { shared: { 1: { name: 'rope' }, 2: { name: 'hook' } } } });
});

it('[PG-338] the connection of a machine that vanished is ended, so that its connector goes on elsewhere', async () => {
  const link = await open();
  link.start();
  await link.copied();
  await link.stop();
  // The server sees it as alive until its timeout, and it says nothing more.
  const silent = { ...systemClock, every: () => () => undefined };
  const vanished = ReplicationConnection.open(parseDatabaseUrl(link.database.url), silent, `tidemark ${link.name}`);
  onTestFinished(() => vanished.close());
  await vanished.start({ slot: link.mapping.slot, publication: 'tidemark' });
  const reasons = runAgainst(link, 600);
  await link.sql(`INSERT INTO wares VALUES (2, 'hook')`);
  await link.holds({ Ware: { shared: { 1: { name: 'rope' }, 2: { name: 'hook' } } } });
  expect(reasons.at(-1)).toMatch(/ and was ended$/);
});

it('[PG-338] the connection of another program is never ended, however silent it is', async () => {
  const link = await open();
  link.start();
  await link.copied();
  await link.stop();
  const silent = { ...systemClock, every: () => () => undefined };
  const other = ReplicationConnection.open(parseDatabaseUrl(link.database.url), silent, 'somebody else');
  onTestFinished(() => other.close());
  await other.start({ slot: link.mapping.slot, publication: 'tidemark' });
  const reasons = runAgainst(link, 0);
  await expect.poll(() => reasons.length, WAIT).toBeGreaterThan(2);
  expect(reasons.filter((reason) => !/in use by .*"somebody else".*pg_terminate_backend/.test(reason))).toEqual([]);
});
