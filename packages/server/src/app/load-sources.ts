import { readdir, readFile } from 'node:fs/promises';
import { extname, join, parse } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errorMessage, nameProblem } from '@tidemark/protocol';
import { Check } from '@tidemark/protocol/typebox';
import { SourceSetting } from '../config/source-settings.ts';
import type { SourceDefinition } from './define-source.ts';

/** A loaded module of the folder `sources`. */
export interface LoadedSource {
  readonly name: string;
  readonly file: string;
  readonly definition: SourceDefinition;
}

/** A file that is not a valid source module. The message names the file. */
class BadSource extends Error {
  override readonly name = 'BadSource';
}

const KINDS: ReadonlySet<string> = new Set(['.js', '.mjs', '.ts']);
const OPERATIONS = ['query', 'create', 'update', 'delete', 'search', 'partition', 'groups'] as const;
/** Adapter names that a module must not have. */
const RESERVED_NAMES: ReadonlySet<string> = new Set(['none', 'backend']);

/**
 * Loads the source modules of an app folder: every `.js`, `.mjs` and `.ts` file directly in `sources` whose default
 * export comes from `defineSource`. With `isReload` it reads files again that were loaded before.
 */
export async function loadSources(appFolder: string, isReload = false): Promise<readonly LoadedSource[]> {
  const folder = join(appFolder, 'sources');
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && isModule(entry.name)).map(({ name }) => join(folder, name));
  const sources: LoadedSource[] = [];
  for (const file of files.sort()) sources.push(await loadSource(file, isReload));
  const doubled = sources.find(({ name }, index) => sources.findIndex((one) => one.name === name) !== index);
  if (doubled !== undefined)
    throw new BadSource(`${doubled.file}: another module has the same source name ${doubled.name}`);
  return sources;
}

function isModule(name: string): boolean {
  return KINDS.has(extname(name)) && !/\.(?:test|d)\.[mj]?[jt]s$/.test(name);
}

async function loadSource(file: string, isReload: boolean): Promise<LoadedSource> {
  const module = await importFile(file, isReload);
  const definition = (module as { readonly default?: unknown }).default;
  if (typeof definition !== 'object' || definition === null) {
    throw new BadSource(`${file}: the default export must be the result of defineSource`);
  }
  const name = (definition as { readonly name?: unknown }).name ?? parse(file).name;
  const problem = problemOf(name, definition);
  if (problem !== null) throw new BadSource(`${file}: ${problem}`);
  return { name: name as string, file, definition: definition as SourceDefinition };
}

/**
 * Node 20 can neither import TypeScript nor ES modules in `.js` files of a folder without a `package.json`, and it
 * never reloads a module. So files of these kinds, and reloaded ones, are compiled and run here.
 */
async function importFile(file: string, isReload: boolean): Promise<unknown> {
  try {
    if (extname(file) === '.mjs' && !isReload) return await import(pathToFileURL(file).href);
    // Loaded on first use, because most servers have no such module.
    const { createJiti } = await import('jiti');
    const jiti = createJiti(import.meta.url, { moduleCache: !isReload, fsCache: false });
    if (!isReload) return await jiti.import(file);
    const text = await readFile(file, 'utf8');
    return await jiti.evalModule(text, { filename: file, async: true, forceTranspile: true });
  } catch (error) {
    throw new BadSource(`${file}: ${errorMessage(error)}`, { cause: error });
  }
}

function problemOf(name: unknown, definition: object): string | null {
  if (typeof name !== 'string' || nameProblem('source', name) !== null) return 'its name is not valid';
  if (RESERVED_NAMES.has(name)) return `${name} is a reserved name`;
  const members = Object.entries(definition).filter(([member]) => member !== 'name');
  const operations: readonly string[] = OPERATIONS;
  const broken = members.find(([member, value]) => operations.includes(member) && typeof value !== 'function');
  if (broken !== undefined) return `${broken[0]} must be a function`;
  if (!('query' in definition)) return 'query is missing';
  if ('partition' in definition && 'partition_type' in definition && definition.partition_type === 'app') {
    return 'a shared source must not have a partition()';
  }
  if ('groups' in definition && !('partition_type' in definition && definition.partition_type === 'group')) {
    return "groups() needs the partition_type 'group'";
  }
  const attributes = members.filter(([member]) => !operations.includes(member));
  const unknown = attributes.find(([member]) => member === 'adapter' || !(member in SourceSetting.properties));
  if (unknown !== undefined) return `${JSON.stringify(unknown[0])} is not an attribute of a source`;
  return Check(SourceSetting, { name, ...Object.fromEntries(attributes) }) ? null : 'an attribute is not allowed';
}

/** Returns the declaration of the source, as in a configuration. */
export function declarationOf({ name, definition }: LoadedSource): SourceSetting {
  const operations: readonly string[] = OPERATIONS;
  const attributes = Object.entries(definition).filter(([member]) => !operations.includes(member));
  return { ...(Object.fromEntries(attributes) as Partial<SourceSetting>), name, adapter: name };
}
