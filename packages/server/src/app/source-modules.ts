import { existsSync, watch } from 'node:fs';
import { basename, join } from 'node:path';
import type { Adapter, LogFields, Tidemark } from '@tidemark/core';
import type { SourceSetting } from '../config/source-settings.ts';
import type { Part } from '../lifecycle.ts';
import { declarationOf, type LoadedSource, loadSources } from './load-sources.ts';
import { type ModuleAdapterParts, moduleAdapter } from './module-adapter.ts';

/** Changes of files within this time cause one reload. */
const SETTLE_MS = 100;

/** The source modules of an app folder. */
export class SourceModules {
  readonly #folder: string | null;
  readonly #parts: ModuleAdapterParts;
  #adapters: ReadonlyMap<string, Adapter> = new Map();
  #declarations: readonly SourceSetting[] = [];

  /** A null folder means that there is no app. */
  constructor(folder: string | null, parts: ModuleAdapterParts) {
    this.#folder = folder;
    this.#parts = parts;
  }

  get names(): readonly string[] {
    return [...this.#adapters.keys()];
  }

  /** Loads all modules, or none: if one cannot be loaded, the modules loaded before stay. */
  async load(isReload = false): Promise<void> {
    if (this.#folder === null) return;
    const sources = await loadSources(this.#folder, isReload).catch(emptyIfMissing);
    this.#adapters = new Map(sources.map((source) => [source.name, moduleAdapter(source, this.#parts)]));
    this.#declarations = sources.map(declarationOf);
  }

  find(name: string): Adapter | null {
    return this.#adapters.get(name) ?? null;
  }

  /** Merges the declarations of the modules with the configured ones, which take precedence. */
  declarationsWith(configured: readonly SourceSetting[]): readonly SourceSetting[] {
    const named = new Map(configured.map((source) => [source.name, source]));
    const own = this.#declarations.map((source) => ({ ...source, ...named.get(source.name) }));
    const known = new Set(this.#declarations.map(({ name }) => name));
    return [...own, ...configured.filter(({ name }) => !known.has(name))];
  }

  /** Reloads the modules when a file of the folder changes, then calls back. Returns a function that stops watching. */
  watch(onLoaded: () => Promise<unknown>): () => void {
    const { log } = this.#parts;
    if (this.#folder === null) return () => undefined;
    const folder = join(this.#folder, 'sources');
    if (!existsSync(folder)) return () => undefined;
    let timer: NodeJS.Timeout | undefined;
    const reload = async () => {
      try {
        await this.load(true);
        await onLoaded();
        log.info('sources_reloaded', { count: this.#declarations.length });
      } catch (error) {
        log.error('sources_not_reloaded', loadErrorFields(error));
      }
    };
    const watcher = watch(folder, () => {
      clearTimeout(timer);
      timer = setTimeout(() => void reload(), SETTLE_MS);
    });
    return () => {
      clearTimeout(timer);
      watcher.close();
    };
  }
}

/** Applies source modules again when their files change. */
export function modulesPart(
  modules: SourceModules,
  { sources, refresher }: Pick<Tidemark, 'sources' | 'refresher'>,
  configured: readonly SourceSetting[],
): Part {
  const apply = async () => {
    await sources.configure(modules.declarationsWith(configured));
    for (const source of modules.names) await refresher.refreshKnown(source);
  };
  let unwatch = () => {};
  return {
    name: 'source modules',
    start() {
      unwatch = modules.watch(apply);
    },
    stop: () => unwatch(),
  };
}

/** Returns why modules could not be loaded, with the stack of the error in the module if it is known. */
function loadErrorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { reason: String(error), stack: null };
  const origin = error.cause instanceof Error ? error.cause : error;
  return { reason: error.message, stack: origin.stack ?? null };
}

/** An app without the folder `sources` has no modules. Other errors are thrown. */
function emptyIfMissing(error: unknown): readonly LoadedSource[] {
  const { code, path = '' } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' && basename(path) === 'sources') return [];
  throw error;
}
