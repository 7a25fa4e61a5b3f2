import { parseJson } from '@tidemark/protocol';
import { clientError } from '../client-error.ts';
import { KEY_VALUE_LOG_MAX, KEY_VALUE_UNITS_MAX } from '../limits.ts';
import type { FileDirectory } from '../ports/file-directory.ts';
import type { CommitOptions, LocalKey, LocalRow, LocalStore, LocalWrite, Table } from '../ports/local-store.ts';
import { storeError } from './store-error.ts';

/**
 * The part of AsyncStorage 1 and 2 that the store uses; `expo-sqlite/kv-store` has it as well. One `multiSet` of one key must be
 * atomic.
 */
export interface KeyValueStorage {
  getAllKeys(): Promise<readonly string[]>;
  multiGet(keys: readonly string[]): Promise<readonly (readonly [string, string | null])[]>;
  multiSet(pairs: [string, string][]): Promise<void>;
  multiRemove(keys: string[]): Promise<void>;
}

/** The same of AsyncStorage 3. */
export interface KeyValueStorage3 {
  getAllKeys(): Promise<readonly string[]>;
  getMany(keys: string[]): Promise<Readonly<Record<string, string | null>>>;
  setMany(entries: Record<string, string>): Promise<void>;
  removeMany(keys: string[]): Promise<void>;
}

interface KeyValueStoreOptions {
  /** One device at a time may use a name. Default: `tidemark`. */
  readonly name?: string;
  /** Where the bytes of files are stored. Absent: the device keeps no files. */
  readonly files?: FileDirectory;
}

/**
 * Opens a store over a key-value storage, which need not be able to write several keys together. A commit becomes durable
 * by one key, the next entry of a log; after some commits the log is folded into keys of the rows. One device at a
 * time may use a name.
 */
export async function openKeyValueStore(
  storage: KeyValueStorage | KeyValueStorage3,
  { name = 'tidemark', files }: KeyValueStoreOptions = {},
): Promise<LocalStore> {
  const store = new KeyValueStore('multiGet' in storage ? storage : asPairs(storage), name);
  await store.open();
  return files === undefined ? store : Object.assign(store, { files: async () => files });
}

/** An entry of the log: the writes as text, or the number of keys that hold it when it is too long for one. */
type LogEntry = { readonly text: string } | { readonly parts: number };

class KeyValueStore implements LocalStore {
  readonly #storage: KeyValueStorage;
  readonly #rowPrefix: string;
  readonly #logPrefix: string;
  readonly #partPrefix: string;
  /** Numbers of the entries in the log, ascending. */
  #log: number[] = [];
  #isClosed = false;
  /** True: deleted rows may still be in the log. */
  #mustScrub = false;

  constructor(storage: KeyValueStorage, name: string) {
    this.#storage = storage;
    const prefix = JSON.stringify(name);
    this.#rowPrefix = `${prefix}/row/`;
    this.#logPrefix = `${prefix}/log/`;
    this.#partPrefix = `${prefix}/part/`;
  }

  async open(): Promise<void> {
    const keys = await this.#storage.getAllKeys();
    this.#log = keys
      .filter((key) => key.startsWith(this.#logPrefix))
      .map((key) => Number(key.slice(this.#logPrefix.length)))
      .sort((left, right) => left - right);
    const known = new Set(this.#log);
    // What a process that died left behind.
    await this.#storage.multiRemove(
      keys.filter((key) => key.startsWith(this.#partPrefix) && !known.has(numberOfPart(key, this.#partPrefix))),
    );
  }

  async load(onFirst?: (rows: readonly LocalRow[]) => void): Promise<readonly LocalRow[]> {
    this.#requireOpen();
    const keys = (await this.#storage.getAllKeys()).filter((key) => key.startsWith(this.#rowPrefix));
    const log = [...(await this.#readLog())];
    const isObject = (key: string) => key.startsWith(`${this.#rowPrefix}["objects",`);
    const read = async (isWanted: (key: string) => boolean) => {
      const rows = new Map<string, string | null>(await this.#storage.multiGet(keys.filter(isWanted)));
      for (const [key, text] of log) if (isWanted(key)) rows.set(key, text);
      return [...rows].flatMap(([key, text]) => (text === null ? [] : [this.#rowOf(key, text)]));
    };
    const others = await read((key) => !isObject(key));
    onFirst?.(others);
    return [...others, ...(await read(isObject))];
  }

  async commit(writes: readonly LocalWrite[], { scrubs = false }: CommitOptions = {}): Promise<void> {
    this.#requireOpen();
    this.#mustScrub ||= scrubs;
    const pairs = writes.map(({ table, key, value }): [string, string | null] => [
      this.#rowPrefix + JSON.stringify([table, ...key]),
      value === undefined ? null : JSON.stringify(value),
    ]);
    await this.#append(JSON.stringify(pairs)).catch((error: unknown) => {
      throw storeError(error);
    });
    // The commit is stored already: a failure to fold must not reject it, and the next one folds again.
    if (this.#mustScrub) await this.#scrub().catch(() => undefined);
    else if (this.#log.length > KEY_VALUE_LOG_MAX) await this.#fold().catch(() => undefined);
  }

  /** An empty entry follows, because the last one stays when the log is folded. */
  async #scrub(): Promise<void> {
    await this.#append('[]');
    await this.#fold();
    this.#mustScrub = false;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  async #append(text: string): Promise<void> {
    const number = (this.#log.at(-1) ?? -1) + 1;
    let entry: LogEntry = { text };
    if (text.length > KEY_VALUE_UNITS_MAX) {
      const parts = Math.ceil(text.length / KEY_VALUE_UNITS_MAX);
      for (let part = 0; part < parts; part++) {
        const slice = text.slice(part * KEY_VALUE_UNITS_MAX, (part + 1) * KEY_VALUE_UNITS_MAX);
        await this.#storage.multiSet([[`${this.#partPrefix}${number}/${part}`, slice]]);
      }
      entry = { parts };
    }
    await this.#storage.multiSet([[this.#logPrefix + number, JSON.stringify(entry)]]);
    this.#log.push(number);
  }

  /** The state of the rows in the log, by key; null: deleted. */
  async #readLog(): Promise<ReadonlyMap<string, string | null>> {
    const rows = new Map<string, string | null>();
    for (const number of this.#log) {
      for (const [key, text] of parseJson(await this.#readEntry(number)) as [string, string | null][]) {
        rows.set(key, text);
      }
    }
    return rows;
  }

  async #readEntry(number: number): Promise<string> {
    const entry = parseJson(await this.#read(this.#logPrefix + number)) as LogEntry;
    if ('text' in entry) return entry.text;
    let text = '';
    for (let part = 0; part < entry.parts; part++) text += await this.#read(`${this.#partPrefix}${number}/${part}`);
    return text;
  }

  async #read(key: string): Promise<string> {
    const [pair] = await this.#storage.multiGet([key]);
    if (typeof pair?.[1] === 'string') return pair[1];
    throw clientError('store_damaged', `the storage has lost its key ${key}`);
  }

  /** Entries are removed oldest first: whatever is left when the process dies may be applied again. */
  async #fold(): Promise<void> {
    const rows = [...(await this.#readLog())];
    const kept = rows.filter((pair): pair is [string, string] => pair[1] !== null);
    await this.#storage.multiSet(kept);
    await this.#storage.multiRemove(rows.filter(([, text]) => text === null).map(([key]) => key));
    const keys = await this.#storage.getAllKeys();
    // The last entry stays, so that numbers go on ascending.
    for (const number of this.#log.slice(0, -1)) {
      await this.#storage.multiRemove([this.#logPrefix + number]);
      this.#log.shift();
      const parts = keys.filter((key) => key.startsWith(`${this.#partPrefix}${number}/`));
      if (parts.length > 0) await this.#storage.multiRemove(parts);
    }
  }

  #rowOf(key: string, text: string): LocalRow {
    const [table, first, second] = parseJson(key.slice(this.#rowPrefix.length)) as [Table, ...LocalKey];
    return { table, key: [first, second], value: parseJson(text) as LocalRow['value'] };
  }

  #requireOpen(): void {
    if (this.#isClosed) throw clientError('closed', 'the store is closed');
  }
}

function asPairs(storage: KeyValueStorage3): KeyValueStorage {
  return {
    getAllKeys: () => storage.getAllKeys(),
    multiGet: async (keys) => Object.entries(await storage.getMany([...keys])),
    multiSet: (pairs) => storage.setMany(Object.fromEntries(pairs)),
    multiRemove: (keys) => storage.removeMany(keys),
  };
}

function numberOfPart(key: string, prefix: string): number {
  return Number.parseInt(key.slice(prefix.length), 10);
}
