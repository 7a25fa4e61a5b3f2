import { clientError } from '../client-error.ts';
import type { LocalRow, LocalStore } from '../ports/local-store.ts';
import { RowMap } from './row-map.ts';

/** Keeps nothing beyond the process: for tests, and for apps that want no trace. `rows` is what it begins with. */
export function memoryStore(rows: readonly LocalRow[] = []): LocalStore {
  const kept = new RowMap(rows);
  let isClosed = false;
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
    async close() {
      isClosed = true;
    },
  };
}
