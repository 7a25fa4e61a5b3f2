import { join } from 'node:path';
import type { Tidemark } from '@tidemark/core';
import { type FileEngine, openFolderEngine } from '@tidemark/files';
import type { Config } from '../config/config.ts';
import { FILES_RESERVE_BYTES } from '../limits.ts';
import type { CataloguePosition, FileCatalogue, FileScope } from './file-catalogue.ts';
import type { FileRights } from './file-rights.ts';
import { FileTransfers } from './file-transfers.ts';

export interface FilesParts {
  readonly tidemark: Tidemark;
  readonly nowMs: () => number;
}

/** Opens the place where the bytes of files are kept. */
export async function openFiles({ files, dataFolder }: Config, { nowMs }: FilesParts): Promise<FileTransfers> {
  const { sizeMax, uploadExpiresMs: expiresMs, folder } = files;
  const place = { folder: folder ?? join(dataFolder, 'files'), reserveBytes: FILES_RESERVE_BYTES };
  const engine = await openFolderEngine(place);
  const catalogue = new EngineCatalogue(engine);
  return new FileTransfers({ engine, rights: new UploaderRights(), catalogue, nowMs, sizeMax, expiresMs });
}

const PAGE = 100;

/** Lists what the engine has; it knows of no objects. */
class EngineCatalogue implements FileCatalogue {
  readonly #engine: FileEngine;

  constructor(engine: FileEngine) {
    this.#engine = engine;
  }

  async list(_scope: FileScope, { after, limit = PAGE }: CataloguePosition) {
    const found = await this.#engine.list({ after, limit });
    const files = found.map(({ sha256, size, storedMs }) => ({
      ...{ sha256, size, type: null, name: null, is_stored: true, references: 0 },
      stored_at: new Date(storedMs).toISOString(),
    }));
    return { files, next: found.length < limit ? null : (found.at(-1)?.sha256 ?? null) };
  }

  async where() {
    return { objects: [], next: null };
  }

  async lost(): Promise<void> {}
}

/** Lets a file be read by who has uploaded it at this server. */
class UploaderRights implements FileRights {
  readonly #uploaders = new Set<string>();

  async begin({ sha256, by }: Parameters<FileRights['begin']>[0]): Promise<'present' | 'needed'> {
    return by.kind === 'user' && this.#uploaders.has(`${by.login} ${sha256}`) ? 'present' : 'needed';
  }

  async arriving(): Promise<void> {}

  async stored({ sha256, by }: Parameters<FileRights['stored']>[0]): Promise<void> {
    if (by.kind === 'user') this.#uploaders.add(`${by.login} ${sha256}`);
  }

  async mayRead(user: string, sha256: string): Promise<object | null> {
    return this.#uploaders.has(`${user} ${sha256}`) ? {} : null;
  }
}
