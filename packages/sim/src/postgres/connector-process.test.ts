import { expect, it, onTestFinished } from 'vitest';
import { ConnectorProcess, runningConnectors } from './connector-process.ts';

const NOBODY = 'http://127.0.0.1:9';

it('[PGSIM-10] a connector that is killed while a step starts it again runs once afterwards', async () => {
  const tables = {};
  const terms = () => ({
    ...{ url: NOBODY, token: 'none', name: 'field', databaseUrl: 'postgres://nobody:none@127.0.0.1:9/none' },
    ...{ mapping: { publication: 'p', slot: 's', tables, members: {}, users: {} }, batchRowsMax: 10, plant: null },
  });
  const connector = new ConnectorProcess();
  onTestFinished(() => connector.end('SIGKILL'));
  connector.start(terms());
  await Promise.all([connector.restart('SIGKILL', terms), connector.restart('SIGKILL', terms)]);
  expect(runningConnectors()).toBe(1);
  await connector.end('SIGKILL');
  expect(runningConnectors()).toBe(0);
});
