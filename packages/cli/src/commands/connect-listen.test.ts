import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { TidemarkClient } from '@tidemark/backend';
import { openDevice } from '@tidemark/client';
import { startPostgres, TcpProxy, temporaryFolder } from '@tidemark/testing/kit';
import { startTestServer } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';

const WAIT = { timeout: 120_000, interval: 50 };
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

const MAPPING = {
  tables: {
    'public.notes': {
      ...{ source: 'Note', owner: 'shared', columns: { body: 'body', author: 'author' } },
      ...{ writable: ['body'], devices: { create: true } },
    },
  },
  writing: { hooks: 'hooks.ts' },
};
const HOOKS = `import type { RowCall, TransactionSql } from '@tidemark/postgres';

export const hooks = {
  'public.notes': async (sql: TransactionSql, call: RowCall & { readonly op: 'create' }): Promise<string> => {
    const [row] = await sql\`INSERT INTO notes (body, author) VALUES (\${call.attributes.body}, \${call.user_id}) RETURNING id::text\`;
    return row.id;
  },
};`;

async function openScene() {
  const [postgres, tidemark, folder] = await Promise.all([startPostgres(), startTestServer(), temporaryFolder()]);
  const proxy = await TcpProxy.open(postgres.port);
  onTestFinished(async () => {
    await proxy.close();
    await tidemark.close();
    await postgres.remove();
    await folder.remove();
  });
  await postgres.sql.unsafe('CREATE TABLE notes (id bigserial PRIMARY KEY, body text, author text)');
  await postgres.sql.unsafe('CREATE PUBLICATION tidemark FOR TABLE notes');
  await postgres.sql.unsafe(`CREATE SCHEMA tidemark; CREATE TABLE tidemark.operations
    (op_id text PRIMARY KEY, object_id text NOT NULL, at timestamptz NOT NULL DEFAULT now())`);
  writeFileSync(join(folder.path, 'map.jsonc'), JSON.stringify(MAPPING));
  writeFileSync(join(folder.path, 'hooks.ts'), HOOKS);
  const address = new URL(postgres.url);
  address.port = String(proxy.port);
  const { PATH = '' } = process.env;
  const env = {
    ...{ PATH, HOME: folder.path, TIDEMARK_URL: tidemark.url, TIDEMARK_TOKEN: tidemark.token },
    TIDEMARK_POSTGRES_URL: String(address),
  };
  const start = (port: number) => startListening({ env, folder: folder.path, port });
  return { postgres, tidemark, proxy, start };
}

interface Start {
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly port: number;
}

/** Starts `tidemark connect postgres --listen`; resolves with where it listens. */
async function startListening({ env, folder, port }: Start): Promise<{ child: ChildProcess; url: string }> {
  const args = ['connect', 'postgres', '--mapping', 'map.jsonc', '--listen', `127.0.0.1:${port}`, '--json'];
  const child = spawn(process.execPath, [MAIN, ...args], { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  let errors = '';
  child.stderr.on('data', (bytes) => {
    errors += String(bytes);
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const { event, url } = JSON.parse(line) as { readonly event: string; readonly url: string };
    if (event !== 'listening') continue;
    child.stdout.resume();
    return { child, url };
  }
  throw new Error(`the connector ended: ${errors}`);
}

it('[PG-260] connect postgres --listen makes signed changes by its hooks, refuses all others, and makes one once that it was killed in', async () => {
  const { postgres, tidemark, proxy, start } = await openScene();
  const first = await start(0);
  const client = new TidemarkClient(tidemark);
  await client.system.setAppserver(first.url);
  await expect.poll(() => client.sources.get('Note').catch(() => null), WAIT).toMatchObject({ filling: false });

  const forged = await fetch(`${first.url}/create`, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/json', 'webhook-id': 'msg_1', 'webhook-signature': 'v1,AAAA' },
      'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    },
    body: JSON.stringify({ source: 'Note', user_id: 'ada', op_id: 'x', id: 'y', attributes: { body: 'forged' } }),
  });
  expect(forged.status).toBe(401);
  // A query of its own source is answered with 204: nothing is replaced.
  const { checks } = await client.system.checkAppserver();
  expect(checks.find(({ name }) => name === 'source Note')).toMatchObject({ status: 'ok' });

  await client.users.create({ login: 'ada', password: 'kelp-forest-9341' });
  const device = await openDevice({ url: tidemark.url });
  onTestFinished(() => device.close());
  await device.signIn({ login: 'ada', password: 'kelp-forest-9341' });
  await device.sync();
  const notes = device.source('Note');
  const rows = async () => [...(await postgres.sql`SELECT body, author FROM notes ORDER BY id`)];
  await notes.create({ body: 'one' });
  await expect.poll(() => device.uploads.list().length, WAIT).toBe(0);
  expect(await rows()).toEqual([{ body: 'one', author: 'ada' }]);

  proxy.stall(
    () => true,
    (bytes) => bytes[0] === 'C'.charCodeAt(0) && bytes.includes('COMMIT'),
  );
  await notes.create({ body: 'two' });
  await expect.poll(async () => [(await rows()).length, proxy.heldChunks > 0], WAIT).toEqual([2, true]);
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  await start(Number(new URL(first.url).port));
  await expect.poll(() => device.uploads.list().length, WAIT).toBe(0);
  expect(device.problems.list()).toEqual([]);
  expect((await rows()).map(({ body }) => body)).toEqual(['one', 'two']);
});
