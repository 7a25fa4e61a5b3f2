import { readdir, readFile } from 'node:fs/promises';
import { extname, join, parse } from 'node:path';
import { pathToFileURL } from 'node:url';
import { nameProblem } from '@tidemark/protocol';
import { Check } from 'typebox/schema';
import { SourceSetting } from '../config/source-settings.ts';
import type { SourceDefinition } from './define-source.ts';

/** A module of the folder `sources`, loaded. */
export interface LoadedSource {
  readonly name: string;
  readonly file: string;
  readonly definition: SourceDefinition;
}

/** A module that is no source, in words that name the file. */
class BadSource extends Error {
  override readonly name = 'BadSource';
}

const KINDS: ReadonlySet<string> = new Set(['.js', '.mjs', '.ts']);
const OPERATIONS = ['query', 'create', 'update', 'delete', 'search', 'partition'] as const;
/** What a source may be filled by that is no module. */
const TAKEN: ReadonlySet<string> = new Set(['none', 'backend']);

/**
 * The source modules of an app folder: every `.js`, `.mjs` and `.ts` file directly in `sources`, whose default export is what
 * `defineSource` has given. `isAnew`: as they are now, and not as they were when they were first loaded.
 */
export async function loadSources(appFolder: string, isAnew = false): Promise<readonly LoadedSource[]> {
  const folder = join(appFolder, 'sources');
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && isModule(entry.name)).map(({ name }) => join(folder, name));
  const sources: LoadedSource[] = [];
  for (const file of files.sort()) sources.push(await loadSource(file, isAnew));
  const doubled = sources.find(({ name }, index) => sources.findIndex((one) => one.name === name) !== index);
  if (doubled !== undefined) throw new BadSource(`${doubled.file}: there is another source ${doubled.name}`);
  return sources;
}

function isModule(name: string): boolean {
  return KINDS.has(extname(name)) && !/\.(?:test|d)\.[mj]?[jt]s$/.test(name);
}

async function loadSource(file: string, isAnew: boolean): Promise<LoadedSource> {
  const module = await importFile(file, isAnew);
  const definition = (module as { readonly default?: unknown }).default;
  if (typeof definition !== 'object' || definition === null) {
    throw new BadSource(`${file}: must export by default what defineSource gives`);
  }
  const name = (definition as { readonly name?: unknown }).name ?? parse(file).name;
  const problem = problemOf(name, definition);
  if (problem !== null) throw new BadSource(`${file}: ${problem}`);
  return { name: name as string, file, definition: definition as SourceDefinition };
}

/**
 * Node 20 does not read TypeScript by itself, nor modules in `.js` files of folders that say nothing of them, and it never
 * forgets a module that it has read. So what is to be loaded anew is translated and run here, whatever it is called.
 */
async function importFile(file: string, isAnew: boolean): Promise<unknown> {
  try {
    if (extname(file) === '.mjs' && !isAnew) return await import(pathToFileURL(file).href);
    // Loaded for the first module that needs it: most servers have none.
    const { createJiti } = await import('jiti');
    const jiti = createJiti(import.meta.url, { moduleCache: !isAnew, fsCache: false });
    if (!isAnew) return await jiti.import(file);
    const text = await readFile(file, 'utf8');
    return await jiti.evalModule(text, { filename: file, async: true, forceTranspile: true });
  } catch (error) {
    throw new BadSource(`${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function problemOf(name: unknown, definition: object): string | null {
  if (typeof name !== 'string' || nameProblem('source', name) !== null) return 'its name is none';
  if (TAKEN.has(name)) return `${name} is no name for a module`;
  const members = Object.entries(definition).filter(([member]) => member !== 'name');
  const operations: readonly string[] = OPERATIONS;
  const broken = members.find(([member, value]) => operations.includes(member) && typeof value !== 'function');
  if (broken !== undefined) return `${broken[0]} must be a function`;
  if (!('query' in definition)) return 'query is missing';
  if ('partition' in definition && 'partition_type' in definition && definition.partition_type === 'app') {
    return 'a source that all users share has no partition()';
  }
  const attributes = members.filter(([member]) => !operations.includes(member));
  const unknown = attributes.find(([member]) => member === 'adapter' || !(member in SourceSetting.properties));
  if (unknown !== undefined) return `${JSON.stringify(unknown[0])} is not an attribute of a source`;
  return Check(SourceSetting, { name, ...Object.fromEntries(attributes) }) ? null : 'an attribute is not allowed';
}

/** The source as a configuration would declare it. */
export function declarationOf({ name, definition }: LoadedSource): SourceSetting {
  const operations: readonly string[] = OPERATIONS;
  const attributes = Object.entries(definition).filter(([member]) => !operations.includes(member));
  return { ...(Object.fromEntries(attributes) as Partial<SourceSetting>), name, adapter: name };
}
