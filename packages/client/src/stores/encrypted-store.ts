import { type JsonValue, parseJson } from '@tidemark/protocol';
import { clientError } from '../client-error.ts';
import type { FileDirectory } from '../ports/file-directory.ts';
import type { CommitOptions, LocalKey, LocalRow, LocalStore, LocalWrite, Table } from '../ports/local-store.ts';
import type { Sealer } from './sealer.ts';

export { aesGcmSealer, type Sealer } from './sealer.ts';

/** A row as it is stored: both parts of its key, and its value. */
type SealedContent = readonly [string, string, JsonValue];

/**
 * Wraps a store, so that it holds only sealed rows under random names. What stays visible is the table of each row, how many
 * rows there are and how long they are.
 */
export function encryptedStore(store: LocalStore, sealer: Sealer): LocalStore {
  const sealed = new EncryptedStore(store, sealer);
  let files: Promise<FileDirectory> | undefined;
  return {
    ...(store.sharedAs === undefined ? {} : { sharedAs: store.sharedAs }),
    load: (onFirst) => sealed.load(onFirst),
    commit: (writes, options) => sealed.commit(writes, options),
    close: () => store.close(),
    onLost: (listener) => store.onLost?.(listener),
    ...(store.files === undefined ? {} : { files: () => (files ??= filesOf(store, sealer)) }),
  };
}

async function filesOf(store: LocalStore, sealer: Sealer): Promise<FileDirectory> {
  const { encryptedFiles } = await import('./encrypted-files.ts');
  if (store.files === undefined) throw new Error('the store has no files');
  return encryptedFiles(await store.files(), sealer);
}

class EncryptedStore {
  readonly #store: LocalStore;
  readonly #sealer: Sealer;
  /** The names of the stored rows, by table and key; null: not loaded yet. */
  #names: Map<string, string> | null = null;

  constructor(store: LocalStore, sealer: Sealer) {
    this.#store = store;
    this.#sealer = sealer;
  }

  async load(onFirst?: (rows: readonly LocalRow[]) => void): Promise<readonly LocalRow[]> {
    const names = new Map<string, string>();
    const rows: LocalRow[] = [];
    let first = Promise.resolve();
    const openFirst = async (sealed: readonly LocalRow[]) => {
      onFirst?.(await Promise.all(sealed.map(({ table, key, value }) => this.#opened(table, key[1], value))));
    };
    const stored = await this.#store.load((sealed) => {
      // A row that does not open is told below.
      first = openFirst(sealed).catch(() => undefined);
    });
    await first;
    for (const { table, key, value } of stored) {
      const row = await this.#opened(table, key[1], value);
      names.set(nameOf(table, row.key), key[1]);
      rows.push(row);
    }
    this.#names = names;
    return rows;
  }

  async commit(writes: readonly LocalWrite[], options?: CommitOptions): Promise<void> {
    if (this.#names === null) await this.load();
    const names = this.#names ?? new Map<string, string>();
    // Of two writes to one key the later one counts, and a new key gets one name.
    const last = new Map(writes.map((write) => [nameOf(write.table, write.key), write]));
    const changes = await Promise.all(
      Array.from(last, async ([full, write]) => {
        const name = names.get(full) ?? randomName();
        return { full, name, write: await this.#sealed(name, write) };
      }),
    );
    await this.#store.commit(
      changes.map(({ write }) => write),
      options,
    );
    for (const { full, name, write } of changes) {
      if (write.value === undefined) names.delete(full);
      else names.set(full, name);
    }
  }

  async #sealed(name: string, { table, key, value }: LocalWrite): Promise<LocalWrite> {
    if (value === undefined) return { table, key: ['', name] };
    const content: SealedContent = [...key, value];
    return { table, key: ['', name], value: await this.#sealer.seal(JSON.stringify(content), contextOf(table, name)) };
  }

  async #opened(table: Table, name: string, value: JsonValue): Promise<LocalRow> {
    try {
      if (typeof value !== 'string') throw new Error('the row is not sealed');
      const text = await this.#sealer.open(value, contextOf(table, name));
      const [first, second, content] = parseJson(text) as SealedContent;
      return { table, key: [first, second], value: content };
    } catch (error) {
      const detail = 'the data of the device cannot be decrypted: the key is another one, or the data was changed';
      throw clientError('store_damaged', detail, error);
    }
  }
}

function nameOf(table: Table, key: LocalKey): string {
  return JSON.stringify([table, ...key]);
}

function contextOf(table: Table, name: string): string {
  return `${table}/${name}`;
}

function randomName(): string {
  return globalThis.crypto.getRandomValues(new Uint32Array(4)).join('-');
}
