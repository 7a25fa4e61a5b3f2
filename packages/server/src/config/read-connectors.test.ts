import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@tidemark/testing';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { ConfigProblem } from './config-problem.ts';
import { loadConfig } from './load-config.ts';

const SECRET = 'kelp-9341';
const URL = `postgres://tidemark:${SECRET}@127.0.0.1:5432/field`;
const MAPPING = { publication: 'tidemark', slot: 'tidemark', tables: { 'public.p': { source: 'P', owner: 'shared' } } };

let folder: string;

beforeEach(async () => {
  const temporary = await temporaryFolder();
  onTestFinished(temporary.remove);
  folder = temporary.path;
  write('tidemark-postgres.jsonc', MAPPING);
});

function write(name: string, content: unknown, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  chmodSync(path, mode);
  return path;
}

function load(connectors: unknown, env: Readonly<Record<string, string>> = { TIDEMARK_POSTGRES_URL: URL }) {
  write('tidemark.config.json', { connectors });
  return loadConfig({ env, folder, userId: 1000, readsConnectors: true });
}

function problemsOf(...given: Parameters<typeof load>): readonly string[] {
  try {
    load(...given);
  } catch (error) {
    if (error instanceof ConfigProblem) return error.problems.map(({ detail }) => detail);
    throw error;
  }
  return [];
}

it('[PG-200] a connector takes its address from a variable or a file, and its mapping from a file beside the configuration', () => {
  const field = { name: 'field', kind: 'postgres' };
  const address = { host: '127.0.0.1', port: 5432, database: 'field', user: 'tidemark', password: SECRET };
  const expected = { name: 'field', kind: 'postgres', address, mapping: { slot: 'tidemark' } };
  expect(load([field]).config.connectors).toMatchObject([expected]);
  write('url', `${URL}\n`);
  expect(load([field], { TIDEMARK_POSTGRES_URL_FILE: 'url' }).config.connectors).toMatchObject([expected]);
  expect(load([{ ...field, url_file: 'url' }], {}).config.connectors).toMatchObject([expected]);
  mkdirSync(join(folder, 'maps'));
  write('maps/field.jsonc', { ...MAPPING, slot: 'field' });
  const other = { ...field, url_env: 'TIDEMARK_FIELD_URL', mapping: 'maps/field.jsonc' };
  expect(load([other], { TIDEMARK_FIELD_URL: URL })).toMatchObject({
    config: { connectors: [{ ...expected, mapping: { slot: 'field' }, mappingFile: 'maps/field.jsonc' }] },
    warnings: [],
  });
});

it('[PG-200] commands that run no connector need neither its address nor its mapping', () => {
  write('tidemark.config.json', { connectors: [{ name: 'field', kind: 'postgres', mapping: 'none.jsonc' }] });
  expect(loadConfig({ env: {}, folder, userId: 1000 }).config.connectors).toEqual([]);
});

it('[PG-201] everything that is wrong with connectors is reported at once, at the start, with the place', () => {
  write('wrong.jsonc', { ...MAPPING, tables: { 'public.p': { sources: 'P', owner: 'shared' } } });
  const wrong = [
    { name: 'a', kind: 'postgres', url_env: 'NOT_SET' },
    { name: 'b', kind: 'postgres', mapping: 'none.jsonc' },
    { name: 'c', kind: 'postgres', mapping: 'wrong.jsonc', url_file: 'none' },
  ];
  expect(problemsOf(wrong)).toEqual([
    'connector a: there is no address of a database; set NOT_SET to postgres://user:password@host:5432/database, or url_file to a file with it',
    'connector b: the mapping none.jsonc cannot be read (ENOENT); write a first one with tidemark connect postgres --init',
    'connector c: url_file: none cannot be read (ENOENT)',
    expect.stringContaining('connector c: wrong.jsonc: tables["public.p"]'),
    expect.stringContaining('connector c: wrong.jsonc: tables["public.p"]'),
  ]);
  expect(problemsOf([{ name: 'a b', kind: 'mysql', mapping: 1, url: URL }])).toEqual([
    'connectors in tidemark.config.json, connector 1: name must have 1 to 100 letters, digits, and any of . _ -, not "a b"',
    'connectors in tidemark.config.json, connector 1: kind must be postgres, not "mysql"',
    'connectors in tidemark.config.json, connector 1: mapping must be the path of a file, not 1',
    'connectors in tidemark.config.json, connector 1: "url" is not an attribute of a connector',
  ]);
  const twice = [
    { name: 'a', kind: 'postgres' },
    { name: 'b', kind: 'postgres' },
  ];
  expect(problemsOf(twice)).toEqual([
    'connectors a and b both have the slot tidemark',
    'connectors a and b both have the source P',
  ]);
});

it('[PG-202] the address of a database is in no message about the configuration, and not among the settings that are shown', () => {
  const field = { name: 'field', kind: 'postgres' };
  const { config } = load([field]);
  expect(JSON.stringify(config.settingsInForce)).not.toContain(SECRET);
  write('open', URL, 0o644);
  const mistakes = [
    problemsOf([{ ...field, url_env: URL }]),
    problemsOf([{ ...field, url_file: 'open' }]),
    problemsOf([field], { TIDEMARK_POSTGRES_URL: `${URL}?ssl=on` }),
    problemsOf([field], { TIDEMARK_POSTGRES_URL: `mysql://a:${SECRET}@host/db` }),
  ];
  for (const messages of mistakes) {
    expect(messages).toHaveLength(1);
    expect(messages.join()).not.toContain(SECRET);
  }
});
