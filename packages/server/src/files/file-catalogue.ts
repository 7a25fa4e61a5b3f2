import type { Owner } from '@tidemark/core';

/** A file as lists show it. */
export interface CataloguedFile {
  readonly sha256: string;
  readonly size: number;
  readonly type: string | null;
  readonly name: string | null;
  readonly is_stored: boolean;
  readonly stored_at: string | null;
  readonly references: number;
}

/** An object that refers to a file. */
export interface FileReferrer {
  readonly source: string;
  readonly owner: Owner;
  readonly object: string;
}

export type FileScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'source'; readonly source: string }
  | { readonly kind: 'user'; readonly user: string }
  | { readonly kind: 'missing' };

export interface CataloguePosition {
  readonly after?: string;
  readonly limit?: number;
}

/** What administrators and backends find out about files. */
export interface FileCatalogue {
  list(
    scope: FileScope,
    position: CataloguePosition,
  ): Promise<{ files: readonly CataloguedFile[]; next: string | null }>;
  where(
    sha256: string,
    position: CataloguePosition,
  ): Promise<{ objects: readonly FileReferrer[]; next: string | null }>;
  /** The engine does not have the bytes any more, so devices that have them are asked for them. */
  lost(sha256: string): Promise<void>;
}
