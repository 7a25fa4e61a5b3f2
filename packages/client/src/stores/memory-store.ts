import type { JsonValue } from '@tidemark/protocol';
import { clientError } from '../client-error.ts';
import type { FileDirectory } from '../ports/file-directory.ts';
import type { LocalRow, LocalStore } from '../ports/local-store.ts';
import { RowMap } from '../state/row-map.ts';

/** Stores nothing beyond the process, for tests and for apps without stored data. `rows` is the initial content. */
export function memoryStore(rows: readonly LocalRow[] = []): LocalStore {
  const kept = new RowMap<JsonValue>();
  kept.apply(rows);
  let isClosed = false;
  let files: Promise<FileDirectory> | undefined;
  const requireOpen = () => {
    if (isClosed) throw clientError('closed', 'the store is closed');
  };
  return {
    async load() {
      requireOpen();
      return kept.rows();
    },
    async commit(writes) {
      requireOpen();
      kept.apply(writes);
    },
    files: () => (files ??= import('./memory-files.ts').then(({ memoryFiles }) => memoryFiles())),
    async close() {
      isClosed = true;
    },
  };
}
