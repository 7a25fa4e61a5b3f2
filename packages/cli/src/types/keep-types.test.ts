import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SourceSchema } from '@tidemark/protocol';
import { temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { keepTypes } from './keep-types.ts';

/** Keeps the types of one source. `look` makes it look again, and resolves when it has. */
async function start(before?: string) {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const file = join(folder.path, 'tidemark.ts');
  if (before !== undefined) writeFileSync(file, before);
  const said: string[] = [];
  const total = (type: 'number' | 'string'): SourceSchema => ({ properties: { total: { type } } });
  const server: { schema: SourceSchema; error: Error | null } = { schema: total('number'), error: null };
  let next: (() => void) | null = null;
  let paused = () => {};
  const wait = () => new Promise<void>((resolve) => (paused = resolve));
  const first = wait();
  const end = keepTypes({
    file,
    shown: 'tidemark.ts',
    read: async () => {
      if (server.error !== null) throw server.error;
      return [{ name: 'Order', schema: server.schema, version: 1, steps: [], references: {} }];
    },
    say: (line) => said.push(line),
    later: (action) => {
      next = action;
      paused();
      return () => {
        next = null;
      };
    },
  });
  await first;
  const look = async () => {
    const looked = wait();
    next?.();
    await looked;
  };
  return { file, said, server, total, look, end, isWaiting: () => next !== null };
}

it('[TYPES-30] tidemark dev writes the types at its start, and again when a schema has changed', async () => {
  const { file, said, server, total, look, end, isWaiting } = await start();
  expect([said, readFileSync(file, 'utf8').includes('readonly total?: number;')]).toEqual([
    ['Wrote tidemark.ts.'],
    true,
  ]);
  await look();
  expect(said).toHaveLength(1);
  server.schema = total('string');
  await look();
  expect([said.length, readFileSync(file, 'utf8').includes('readonly total?: string;')]).toEqual([2, true]);
  expect(isWaiting()).toBe(true);
  end();
  expect(isWaiting()).toBe(false);
});

it('[TYPES-31] tidemark dev says once why types are not written, and goes on', async () => {
  const { file, said, server, look } = await start('export const app = 1;\n');
  await look();
  expect(said).toEqual([
    `warning: the types in tidemark.ts are not written: ${file} was not written by tidemark types`,
  ]);
  server.error = new Error('the store is busy');
  await look();
  expect(said[1]).toBe('warning: the types in tidemark.ts are not written: the store is busy');
  expect(readFileSync(file, 'utf8')).toBe('export const app = 1;\n');
  server.error = null;
  writeFileSync(file, '// Written by tidemark types\n');
  await look();
  expect(said[2]).toBe('Wrote tidemark.ts.');
});

it('[TYPES-30] types that are read while tidemark dev ends are not written', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const file = join(folder.path, 'tidemark.ts');
  let answer = (): void => undefined;
  const read = () => new Promise<readonly []>((resolve) => (answer = () => resolve([])));
  const said: string[] = [];
  const end = keepTypes({
    file,
    shown: 'tidemark.ts',
    read,
    say: (line) => said.push(line),
    later: () => () => undefined,
  });
  end();
  answer();
  await new Promise((resolve) => setImmediate(resolve));
  expect([said, existsSync(file)]).toEqual([[], false]);
});
