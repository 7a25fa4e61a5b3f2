import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeApp } from '@tidemark/cli';
import type { Page, PullAnswer } from '@tidemark/protocol';
import { Caller, collectingLog, makeUser, openDevice, temporaryFolder } from '@tidemark/testing';
import { startTestServer } from '@tidemark/testing/server';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { loadSources } from './load-sources.ts';
import { SourceModules } from './source-modules.ts';

const log = collectingLog();
const PARTS = { timeoutMs: 10_000, queryTimeoutMs: 10_000, log };

let root: string;

beforeEach(async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  root = join(folder.path, 'app');
});

function write(name: string, text: string): void {
  const file = join(root, 'sources', name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const source = (body: string) => `export default { ${body} };`;

describe('source modules', () => {
  it('[MODULE-1] all JavaScript and TypeScript files of the folder become sources, named by their definition or their file', async () => {
    write('Stock.js', source("query: async () => ({ '1': { a: 1 } })"));
    write('order.mjs', source("name: 'Order', partition_type: 'user', query: async () => ({})"));
    write('typed.ts', 'const n: number = 2 as number;\nexport default { name: "Typed", query: () => ({ t: { n } }) };');
    write('typed.test.ts', 'throw new Error("not a source");');
    write('notes.txt', 'not a source');
    const loaded = await loadSources(root);
    expect(loaded.map(({ name }) => name).sort()).toEqual(['Order', 'Stock', 'Typed']);
    expect(
      await loaded.find(({ name }) => name === 'Typed')?.definition.query({ user: null, partition: null }),
    ).toEqual({
      t: { n: 2 },
    });
  });

  it.each([
    ['no default export', 'export const x = 1;', 'the default export must be'],
    ['no query', source('poll_interval: 1'), 'query is missing'],
    ['a query that is none', source('query: 7'), 'query must be a function'],
    ['an attribute that is none', source('query: () => ({}), pol_interval: 1'), 'is not an attribute'],
    ['an attribute out of range', source('query: () => ({}), poll_interval: -7'), 'is not allowed'],
    ['a name that is taken', source("name: 'backend', query: () => ({})"), 'a reserved name'],
    ['an adapter of its own', source("adapter: 'backend', query: () => ({})"), 'is not an attribute'],
    [
      'a partition of what all share',
      source("partition_type: 'app', partition: () => 'a', query: () => ({})"),
      'partition()',
    ],
    ['a mistake', 'export default {', 'bad.mjs'],
  ])('[MODULE-1] %s is refused with an error that names the file', async (_what, text, problem) => {
    write('bad.mjs', text);
    await expect(loadSources(root)).rejects.toThrow(problem);
    await expect(loadSources(root)).rejects.toThrow('bad.mjs');
  });

  it('[MODULE-2] modules declare their sources, and the configuration takes precedence', async () => {
    write('Stock.mjs', source("partition_type: 'app', poll_interval: 5, query: () => ({})"));
    const modules = new SourceModules(root, PARTS);
    await modules.load();
    expect(modules.declarationsWith([{ name: 'Stock', poll_interval: 9 }, { name: 'Other' }])).toEqual([
      { name: 'Stock', adapter: 'Stock', partition_type: 'app', poll_interval: 9 },
      { name: 'Other' },
    ]);
  });

  it('[SCHEMA-22] a source module has a schema, which a server sets when it starts, and a wrong one stops it', async () => {
    const schema = "{ properties: { title: { type: 'string' } } }";
    const module = (name: string, more: string) =>
      write(`${name}.mjs`, source(`partition_type: 'app', query: () => ({}), ${more}`));
    module('Stock', `schema: ${schema}, schema_mode: 'enforce'`);
    const running = await startTestServer({ appFolder: root });
    onTestFinished(() => running.close());
    const { body } = await new Caller(running.url, running.token).get('/rc/v1/sources/Stock/schema');
    expect(body).toMatchObject({ version: 1, mode: 'enforce', schema: { properties: { title: { type: 'string' } } } });
    module('Crate', "schema: { properties: { title: { type: 'date' } } }");
    await expect(startTestServer({ appFolder: root })).rejects.toThrow('the schema of the source "Crate"');
  });

  it('[MODULE-3] modules fill a real server, and changes that a module does not support are rejected', async () => {
    write('Stock.mjs', source("partition_type: 'app', poll_interval: 0, query: () => ({ '1': { a: 1 } })"));
    const server = await startTestServer({ appFolder: root });
    onTestFinished(() => server.close());
    const admin = new Caller(server.url, server.token);
    await admin.post('/rc/v1/users', { attributes: { login: 'anna', password: 'long enough' } });
    const login = await new Caller(server.url, null).post('/sync/v1/login', { login: 'anna', password: 'long enough' });
    const { token, client_id } = login.body as { token: string; client_id: string };
    const device = new Caller(server.url, token);
    const pulled = await device.post('/sync/v1/pull', { client_id, sources: { Stock: {} } });
    expect(pulled.body).toMatchObject({ sources: { Stock: { put: { '1': { a: 1 } }, size: 1 } } });
    const changes = [{ op_id: '1', source: 'Stock', op: 'delete', id: '1' }];
    const pushed = await device.post('/sync/v1/push', { client_id, changes });
    expect(pushed.body).toMatchObject({ outcomes: [{ status: 'rejected', error: { code: 'upload_rejected' } }] });
    const search = await device.post('/sync/v1/search', { source: 'Stock', params: {} });
    expect(search.body).toMatchObject({ code: 'search_not_available' });
  });

  it('[ADAPT-6] users of one team share one document and receive its changes; a user who leaves the team no longer sees it', async () => {
    write(
      'Visit.mjs',
      `const teamOf = { anna: 'north', bert: 'north' };
      let queries = 0;
      export default {
        poll_interval: 300,
        partition: (user) => teamOf[user] ?? null,
        query: ({ user, partition }) => ({ [partition ?? user]: { query: ++queries } }),
        update: ({ user, attributes }) => { if (attributes.to) teamOf[user] = attributes.to; },
      };`,
    );
    const server = await startTestServer({ appFolder: root });
    onTestFinished(() => server.close());
    const admin = new Caller(server.url, server.token);
    const deviceOf = async (login: string) => {
      await makeUser(server, login);
      const { api, id, listen } = await openDevice(server, login);
      const pull = async (token?: string) => {
        const { body } = await api.post('/sync/v1/pull', { client_id: id, sources: { Visit: token ? { token } : {} } });
        return (body as PullAnswer).sources.Visit as Page;
      };
      const push = (changes: object[]) => api.post('/sync/v1/push', { client_id: id, changes });
      return { pull, push, listen };
    };
    const [anna, bert, carl] = [await deviceOf('anna'), await deviceOf('bert'), await deviceOf('carl')];
    const before = await anna.pull();
    expect([before.put, (await bert.pull()).put]).toEqual([{ north: { query: 1 } }, { north: { query: 1 } }]);
    expect((await carl.pull()).put).toEqual({ carl: { query: 2 } });

    const events = await bert.listen();
    await admin.post('/app/v1/Visit/push_objects', { user_id: 'anna', objects: { pushed: { by: 'erp' } } });
    expect(await events.next()).toEqual({ name: 'changed', data: { source: 'Visit' } });
    events.close();
    expect((await admin.get('/rc/v1/users/bert/sources/Visit/docs/md')).body).toMatchObject({ pushed: { by: 'erp' } });

    const changes = [{ op_id: '1', source: 'Visit', op: 'update', id: 'north', attributes: { to: 'south' } }];
    await anna.push(changes);
    const after = await anna.pull(before.token);
    expect([after.reset, after.put]).toEqual([true, { south: { query: 3 } }]);
    await admin.delete('/rc/v1/users/anna');
    expect((await admin.get('/rc/v1/users/bert/sources/Visit/docs/md')).body).toMatchObject({ north: { query: 1 } });
  });

  it('[MODULE-4] modules are reloaded when they change, and a broken one leaves the loaded ones in place', async () => {
    write('Stock.ts', 'export default { query: () => ({ a: { n: 1 as number } }) };');
    const modules = new SourceModules(root, PARTS);
    await modules.load();
    let heard: () => void = () => undefined;
    const loaded = () =>
      new Promise<void>((resolve) => {
        heard = resolve;
      });
    onTestFinished(
      modules.watch(async () => {
        heard();
      }),
    );
    const answer = () => modules.find('Stock')?.query({ source: 'Stock', user: null });
    expect(await answer()).toEqual({ objects: { a: { n: 1 } } });
    const again = loaded();
    write('Stock.ts', 'export default { query: () => ({ a: { n: 2 as number } }) };');
    await again;
    expect(await answer()).toEqual({ objects: { a: { n: 2 } } });
    write('Stock.ts', 'export default {');
    await expect(modules.load(true)).rejects.toThrow('Stock.ts');
    expect(await answer()).toEqual({ objects: { a: { n: 2 } } });
  });
});

describe('tidemark init', () => {
  it('[MODULE-5] init changes no existing file', async () => {
    mkdirSync(root);
    writeFileSync(join(root, 'package.json'), 'mine');
    await expect(makeApp(root, new Map())).rejects.toThrow('not empty');
    expect(readFileSync(join(root, 'package.json'), 'utf8')).toBe('mine');
  });
});
