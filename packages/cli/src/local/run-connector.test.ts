import { PassThrough } from 'node:stream';
import { parseDatabaseUrl } from '@tidemark/postgres';
import { startPostgres } from '@tidemark/testing/kit';
import { startTestServer } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';
import { Cli } from '../cli.ts';
import { Printer } from '../printer.ts';
import { Terminal } from '../terminal.ts';
import { runConnector } from './run-connector.ts';

it('[PG-86] the command line runs a connector, prints its progress and its problems, and ends when it is told to', async () => {
  const [postgres, tidemark] = await Promise.all([startPostgres(), startTestServer()]);
  onTestFinished(() => postgres.remove());
  onTestFinished(() => tidemark.close());
  await postgres.sql.unsafe(`CREATE TABLE wares (id text PRIMARY KEY, name text)`);
  await postgres.sql.unsafe(`INSERT INTO wares VALUES ('1', 'Anchor'), (repeat('k', 600), 'x')`);
  await postgres.sql.unsafe('CREATE PUBLICATION tidemark FOR ALL TABLES');
  const printed: string[] = [];
  const stream = () => new PassThrough().on('data', (bytes) => printed.push(String(bytes)));
  const terminal = new Terminal({ stdin: new PassThrough(), stdout: stream(), stderr: stream() }, {});
  const cli = new Cli(terminal, {}, '/');
  let stop: () => void = () => undefined;
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const running = runConnector(cli, {
    ...{ url: tidemark.url, token: tidemark.token, name: 'cli', address: parseDatabaseUrl(postgres.url), stopped },
    mapping: {
      ...{ publication: 'tidemark', slot: 'tidemark_cli', members: {}, users: {} },
      tables: { 'public.wares': { source: 'Ware', owner: 'shared' } },
    },
    ...{ mappingFile: 'mapping.jsonc', print: new Printer(terminal, false), writing: null },
  });
  await expect.poll(() => printed.join(''), { timeout: 60_000 }).toContain('public.wares: ready, 2 rows');
  stop();
  await running;
  const text = printed.join('');
  expect(text.split('\n')[0]).toBe('connecting');
  expect(text).toContain(
    `public.wares: the row "${'k'.repeat(600)}" cannot be stored: its key is longer than 512 bytes`,
  );
  expect(text.trimEnd().split('\n').at(-1)).toBe('stopped');
  expect(text).not.toContain('only-for-tests');
});
