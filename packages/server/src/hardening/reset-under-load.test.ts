import { Caller, type Library, openLibrary } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';

const RESETS = 5;
const WRITERS = 6;

let server: TestServer;
let admin: Caller;
let library: Library;

beforeAll(async () => {
  server = await startTestServer({ sources: [{ name: 'Kept', partition_type: 'app' }] });
  admin = new Caller(server.url, server.token);
  library = await openLibrary(server.folder);
});

afterAll(async () => {
  admin.close();
  await library.close();
  await server.close();
});

/** Creates users, sources, objects and documents until it is stopped. Returns the unexpected answers. */
async function write(writer: number, goesOn: () => boolean): Promise<readonly string[]> {
  const odd: string[] = [];
  for (let count = 0; goesOn(); count++) {
    const source = `Source ${writer} ${count}`;
    const calls: readonly (readonly [string, unknown])[] = [
      ['/rc/v1/sources', { name: source, partition_type: 'app' }],
      [`/app/v1/${encodeURIComponent(source)}/push_objects`, { objects: { 1: { a: count }, 2: { a: count } } }],
      [`/rc/v1/users/*/sources/${encodeURIComponent(source)}/docs/notes`, { data: 'x' }],
      ['/app/v1/Kept/push_objects', { objects: { [`${writer}`]: { count } } }],
      [`/rc/v1/store/doc-${writer}`, { data: `${count};`, append: true }],
    ];
    for (const [path, body] of calls) {
      const { status, code } = await admin.post(path, body);
      if (status !== 200 && code !== 'source_not_found') odd.push(`${path} ${code ?? status}`);
    }
  }
  return odd;
}

it('[REST-22] a reset under load leaves nothing of the old data', async () => {
  let isDone = false;
  const writers = Array.from({ length: WRITERS }, (_, writer) => write(writer, () => !isDone));
  const epochs = new Set<string>();
  for (let count = 0; count < RESETS; count++) {
    for (let pause = 0; pause < 20; pause++) await admin.get('/rc/v1/sources');
    epochs.add(((await admin.post('/rc/v1/system/reset', {})).body as { readonly epoch: string }).epoch);
  }
  isDone = true;
  expect((await Promise.all(writers)).flat()).toEqual([]);
  expect(epochs.size).toBe(RESETS);
  await expectConsistent();
});

/** All data belongs to existing owners, and the routes return what the store holds. */
async function expectConsistent(): Promise<void> {
  expect(await library.verify()).toEqual([]);
  const names = new Set((await library.tidemark.sources.list()).map(({ name }) => name));
  expect(names).toContain('Kept');
  const partitions = await library.tidemark.store.partitions({ limit: 10_000 });
  expect(partitions.filter(({ source, owner }) => owner.kind !== 'shared' || !names.has(source))).toEqual([]);
  expect((await admin.get('/rc/v1/users')).body).toEqual(['admin']);
  expect((await admin.post('/rc/v1/system/reset', {})).status).toBe(200);
  expect(await library.tidemark.store.partitions({ limit: 10_000 })).toEqual([]);
  expect((await admin.get('/rc/v1/users/*/sources/Kept/docs/md')).body).toEqual({});
}
