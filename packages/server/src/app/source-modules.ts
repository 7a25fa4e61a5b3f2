import { existsSync, watch } from 'node:fs';
import { basename, join } from 'node:path';
import type { Adapter, LogFields } from '@tidemark/core';
import type { SourceSetting } from '../config/source-settings.ts';
import { declarationOf, type LoadedSource, loadSources } from './load-sources.ts';
import { type ModuleAdapterParts, moduleAdapter } from './module-adapter.ts';

/** Changes that come together are taken in together. */
const SETTLE_MS = 100;

/** The sources of an app folder, as they were last loaded. */
export class SourceModules {
  readonly #folder: string | null;
  readonly #parts: ModuleAdapterParts;
  #adapters: ReadonlyMap<string, Adapter> = new Map();
  #declarations: readonly SourceSetting[] = [];

  /** Null: there is no app. */
  constructor(folder: string | null, parts: ModuleAdapterParts) {
    this.#folder = folder;
    this.#parts = parts;
  }

  get names(): readonly string[] {
    return [...this.#adapters.keys()];
  }

  /** All of them or none: when one cannot be loaded, those of before stay. */
  async load(isAnew = false): Promise<void> {
    if (this.#folder === null) return;
    const sources = await loadSources(this.#folder, isAnew).catch(noneIfMissing);
    this.#adapters = new Map(sources.map((source) => [source.name, moduleAdapter(source, this.#parts)]));
    this.#declarations = sources.map(declarationOf);
  }

  find(name: string): Adapter | null {
    return this.#adapters.get(name) ?? null;
  }

  /** What modules declare, and what the configuration says of the same and of other sources. It wins. */
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
        log.error('sources_not_reloaded', whyOf(error));
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

/** Why modules could not be loaded, with the place in the module where that is known. */
function whyOf(error: unknown): LogFields {
  if (!(error instanceof Error)) return { reason: String(error), stack: null };
  const origin = error.cause instanceof Error ? error.cause : error;
  return { reason: error.message, stack: origin.stack ?? null };
}

/** An app without the folder `sources` has none. One whose folder cannot be read is another matter. */
function noneIfMissing(error: unknown): readonly LoadedSource[] {
  const { code, path = '' } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' && basename(path) === 'sources') return [];
  throw error;
}
