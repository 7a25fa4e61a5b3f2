import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Conflict, Rejected } from '@tidemark/backend';
import { temporaryFolder } from '@tidemark/testing/kit';
import { expect, it, onTestFinished } from 'vitest';
import type { Mapping } from '../mapping/mapping.ts';
import type { TransactionSql } from '../sql/open-sql.ts';
import { loadWriteHooks } from './load-write-hooks.ts';
import type { RowCall } from './row-writer.ts';

/** What an app has installed, beside the program that may have a copy of its own in its bundle. */
const INSTALLED = pathToFileURL(join(import.meta.dirname, '../../../backend/dist/index.js')).href;
const CALL: RowCall = { op: 'delete', source: 'Order', user_id: 'ada', op_id: '1', id: '7' };

async function load(file: string, text: string) {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  writeFileSync(join(folder.path, file), text);
  const tables = { 'public.orders': { source: 'Order', owner: 'shared' } } as const;
  const mapping: Mapping = { publication: 'p', slot: 's', tables, members: {}, users: {}, writing: { hooks: file } };
  return loadWriteHooks(mapping, folder.path);
}

async function outcomeOf(file: string, text: string): Promise<unknown> {
  const { 'public.orders': hook } = await load(file, text);
  return hook?.({} as TransactionSql, CALL).catch((error: unknown) => error);
}

it('[PG-356] a module of hooks may be TypeScript', async () => {
  const text = `
    interface Call { readonly id: string }
    export const hooks = { 'public.orders': async (_: unknown, { id }: Call): Promise<string> => \`\${id}!\` };`;
  expect(await outcomeOf('hooks.ts', text)).toBe('7!');
});

it('[PG-356] an error that extends Rejected is one, and not any other that extends it', () => {
  class Late extends Rejected {}
  class Early extends Rejected {}
  const late: unknown = new Late('too late');
  expect([late instanceof Rejected, late instanceof Late, late instanceof Early]).toEqual([true, true, false]);
  expect([null, undefined, 'Rejected', new Error('Rejected')].some((value) => value instanceof Rejected)).toBe(false);
});

it.each(['hooks.mjs', 'hooks.ts'])(
  '[PG-356] what %s refuses is refused for good, also when it has another copy of the package that says so',
  async (file) => {
    const refusing = (name: string) => `import { ${name} } from ${JSON.stringify(INSTALLED)};
      export const hooks = { 'public.orders': async () => { throw new ${name}('not now'); } };`;
    const rejected = await outcomeOf(file, refusing('Rejected'));
    expect([rejected instanceof Rejected, rejected instanceof Conflict]).toEqual([true, false]);
    const conflict = await outcomeOf(file, refusing('Conflict'));
    expect([conflict instanceof Rejected, conflict instanceof Conflict]).toEqual([false, true]);
  },
);

it('[PG-356] a module of hooks that cannot be used is refused with the place', async () => {
  const refusal = (file: string, text: string) => load(file, text).catch((error: Error) => error.message);
  expect(await refusal('hooks.ts', 'export const hooks = {')).toContain('hooks.ts: the module cannot be loaded: ');
  expect(await refusal('hooks.mjs', 'export const other = {};')).toBe(
    'hooks.mjs: expected an export "hooks", an object of functions by the name of their table',
  );
  expect(await refusal('hooks.mjs', `export const hooks = { orders: async () => '1' };`)).toBe(
    'hooks.mjs: hooks["orders"]: no such table is mapped',
  );
  expect(await refusal('hooks.mjs', `export const hooks = { 'public.orders': 'UPDATE' };`)).toBe(
    'hooks.mjs: hooks["public.orders"]: expected a function',
  );
});
