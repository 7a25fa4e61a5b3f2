/** Returns what `tidemark init` writes: path → text. There is one source of each kind, and tests that pass. */
export function appFiles(dependencies: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map([
    ['package.json', packageFile(dependencies)],
    ['tidemark.config.json', CONFIG],
    ['.gitignore', 'node_modules\ndata\n'],
    ['sources/product.ts', PRODUCT],
    ['sources/note.mjs', NOTE],
    ['test/sources.test.mjs', TEST],
  ]);
}

function packageFile(dependencies: Readonly<Record<string, string>>): string {
  const file = {
    name: 'my-tidemark-app',
    private: true,
    type: 'module',
    scripts: { dev: 'tidemark dev', start: 'tidemark serve', test: 'node --test' },
    dependencies,
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

const CONFIG = `{
  "app": ".",
  "data": "./data",
  "sources": [
    // A source that is filled by pushes, or by a backend over HTTP: see docs/backend/contract.md.
    // { "name": "Order", "adapter": "backend", "poll_interval": 300 }
  ],
}
`;

const PRODUCT = `import { defineSource } from '@tidemark/server/app';

// Shared by all users and only read by devices. Replace the list by a query of your own.
const products: Record<string, { name: string; price: number }> = {
  '1': { name: 'Compass', price: 12 },
  '2': { name: 'Rope, 10 m', price: 8.5 },
};

export default defineSource({
  name: 'Product',
  partition_type: 'app',
  poll_interval: 60,
  read_only: true,
  query: async () => products,
  search: async ({ params }) => {
    const wanted = String((params as { name?: string } | null)?.name ?? '').toLowerCase();
    return Object.fromEntries(Object.entries(products).filter(([, { name }]) => name.toLowerCase().includes(wanted)));
  },
});
`;

const NOTE = `import { defineSource, rejected } from '@tidemark/server/app';

// One list per user, changed on devices. A real source keeps this in a database, and the op ids with it.
const notes = new Map();
const done = new Map();
let next = 1;

function of(user) {
  if (!notes.has(user)) notes.set(user, new Map());
  return notes.get(user);
}

// A change reaches a source at least once: what was done under an op id is not done again.
function once(opId, work) {
  if (!done.has(opId)) done.set(opId, work());
  return done.get(opId);
}

export default defineSource({
  name: 'Note',
  partition_type: 'user',
  poll_interval: 300,
  query: async ({ user }) => Object.fromEntries(of(user)),
  create: async ({ user, op_id, attributes }) => {
    if (!attributes.text) throw rejected('a note needs a text');
    return once(op_id, () => {
      const id = String(next++);
      of(user).set(id, attributes);
      return id;
    });
  },
  update: async ({ user, op_id, id, attributes }) => {
    once(op_id, () => of(user).set(id, { ...of(user).get(id), ...attributes }));
  },
  delete: async ({ user, op_id, id }) => {
    once(op_id, () => of(user).delete(id));
  },
});
`;

const TEST = `import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadSources } from '@tidemark/server/app';

const app = join(dirname(fileURLToPath(import.meta.url)), '..');
const sources = new Map((await loadSources(app)).map(({ name, definition }) => [name, definition]));

test('products are shared and can be searched', async () => {
  const { query, search } = sources.get('Product');
  assert.equal(Object.keys(await query({ user: null })).length, 2);
  assert.deepEqual(Object.keys(await search({ user: null, params: { name: 'rope' } })), ['2']);
});

test('a note is made once, changed and deleted, for its user only', async () => {
  const note = sources.get('Note');
  const made = { user: 'ada', op_id: 'a', id: 'tmp', attributes: { text: 'hello' } };
  const id = await note.create(made);
  assert.equal(await note.create(made), id);
  await note.update({ user: 'ada', op_id: 'b', id, attributes: { done: true } });
  assert.deepEqual(await note.query({ user: 'ada' }), { [id]: { text: 'hello', done: true } });
  assert.deepEqual(await note.query({ user: 'bob' }), {});
  await note.delete({ user: 'ada', op_id: 'c', id });
  assert.deepEqual(await note.query({ user: 'ada' }), {});
});

test('a note without a text is rejected', async () => {
  const note = sources.get('Note');
  await assert.rejects(() => note.create({ user: 'ada', op_id: 'd', id: 'tmp', attributes: {} }), /needs a text/);
});
`;
