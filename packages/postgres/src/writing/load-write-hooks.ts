import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errorMessage } from '@tidemark/protocol';
import type { Mapping } from '../mapping/mapping.ts';
import type { WriteHook } from './row-writer.ts';

/**
 * Loads the module that a mapping names. It exports `hooks`: an object with a function for each table whose statements it replaces.
 * `folder` is that of the mapping file.
 */
export async function loadWriteHooks(mapping: Mapping, folder: string): Promise<Readonly<Record<string, WriteHook>>> {
  const path = mapping.writing?.hooks;
  if (path === undefined) return {};
  const { hooks } = await load(path, folder);
  if (typeof hooks !== 'object' || hooks === null) {
    throw new Error(`${path}: expected an export "hooks", an object of functions by the name of their table`);
  }
  for (const [label, hook] of Object.entries(hooks)) {
    if (!Object.hasOwn(mapping.tables, label)) throw new Error(`${path}: hooks["${label}"]: no such table is mapped`);
    if (typeof hook !== 'function') throw new Error(`${path}: hooks["${label}"]: expected a function`);
  }
  return hooks as Readonly<Record<string, WriteHook>>;
}

async function load(path: string, folder: string): Promise<Readonly<Record<string, unknown>>> {
  const file = resolve(folder, path);
  try {
    return (await importFile(file)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw new Error(`${path}: the module cannot be loaded: ${errorMessage(error)}`, { cause: error });
  }
}

/** Node.js 20 cannot import TypeScript, so it is compiled here. */
async function importFile(file: string): Promise<unknown> {
  const url = pathToFileURL(file).href;
  if (extname(file) !== '.ts') return import(url);
  const { createJiti } = await import('jiti');
  return createJiti(url, { fsCache: false }).import(file);
}
