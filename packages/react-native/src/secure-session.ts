import type { CommitOptions, DiskPart, LocalRow, LocalStore, LocalWrite } from '@tidemark/client';
import { parseMembers, utf8Bytes } from '@tidemark/protocol';
import { hexOf, type SecureItems } from './secure-items.ts';

export interface SecureSessionOptions {
  /** Strong random bytes, such as `getRandomBytes` of `expo-crypto`. */
  readonly randomBytes: (count: number) => Uint8Array;
  /** What the names of the items begin with. Default: `tidemark.session`. Stores of one app need different ones. */
  readonly name?: string;
}

/** The facts that hold tokens: the session, and sessions that the server is still to be told the end of. */
const SECRET_FACTS: ReadonlySet<string> = new Set(['session', 'revocations']);
/** The fact that says which item holds them. */
const POINTER = 'secure_session';
const STAMP_BYTES = 16;
/** Bytes of an item. Some keychains refuse larger values. */
const ITEM_BYTES_MAX = 2_000;

type Secrets = Readonly<Record<string, LocalWrite['value']>>;

/** The item, and what proves that it belongs to the commit that points at it. */
interface Pointer {
  readonly slot: number;
  readonly stamp: string;
}

/**
 * Wraps a store, so that the tokens of sessions are in the keychain and not in the files of the store, which end up in backups. An item
 * and a commit cannot be written at once, so there are two items: a commit writes the other one first and then points at it. If the
 * process dies between them, the store still points at the item of the last commit. A store without its item, such as one that was
 * restored on another phone, has no session: the user signs in again, and the data stays.
 */
export function secureSession(store: LocalStore, items: SecureItems, options: SecureSessionOptions): LocalStore {
  const secured = new SecureSession(store, items, options);
  const { files, onLost, disk } = store;
  return {
    load: (onFirst) => secured.load((onRows) => store.load(onRows), onFirst),
    commit: (writes, commitOptions) => secured.commit(writes, commitOptions),
    close: () => store.close(),
    ...(files === undefined ? {} : { files: () => files.call(store) }),
    ...(onLost === undefined ? {} : { onLost: (listener) => onLost.call(store, listener) }),
    ...(disk === undefined
      ? {}
      : {
          disk: {
            load: (choose) => loadPart(secured, disk, choose),
            read: (keys) => disk.read(keys),
            scan: (scan) => disk.scan(scan),
            count: (scan, max) => disk.count(scan, max),
            measure: (first) => disk.measure(first),
            addIndex: (source, path) => disk.addIndex(source, path),
          },
        }),
  };
}

/** Loads all but some objects. Who chooses sees the rows as they were before the store was wrapped. */
function loadPart(secured: SecureSession, disk: DiskPart, choose: Choose): Promise<readonly LocalRow[]> {
  let without: readonly string[] = [];
  const loadRows = (onRows?: OnRows) =>
    disk.load((others) => {
      onRows?.(others);
      return without;
    });
  return secured.load(loadRows, (rows) => {
    without = choose(rows);
  });
}

type Choose = Parameters<DiskPart['load']>[0];
type OnRows = (rows: readonly LocalRow[]) => void;

class SecureSession {
  readonly #store: LocalStore;
  readonly #items: SecureItems;
  readonly #options: SecureSessionOptions;
  #pointer: Pointer | null = null;
  #secrets: Secrets = {};

  constructor(store: LocalStore, items: SecureItems, options: SecureSessionOptions) {
    this.#store = store;
    this.#items = items;
    this.#options = options;
  }

  async load(
    loadRows: (onFirst?: OnRows) => Promise<readonly LocalRow[]>,
    onFirst?: OnRows,
  ): Promise<readonly LocalRow[]> {
    // Both, because the store hands its first rows over without waiting.
    const slots = await Promise.all([0, 1].map((slot) => this.#items.get(this.#nameOf(slot))));
    const take = (rows: readonly LocalRow[]) => this.#withSecrets(rows, slots);
    const rows = await loadRows(onFirst === undefined ? undefined : (first) => onFirst(take(first)));
    const all = take(rows);
    await this.#moveOldFacts(rows);
    return all;
  }

  async commit(writes: readonly LocalWrite[], options?: CommitOptions): Promise<void> {
    const own = writes.filter(isSecret);
    if (own.length === 0) return this.#store.commit(writes, options);
    const changed = Object.fromEntries(own.map(({ key, value }) => [key[1], value]));
    const secrets = definedIn({ ...this.#secrets, ...changed });
    const old = this.#pointer;
    const pointer = { slot: old === null ? 0 : 1 - old.slot, stamp: hexOf(this.#options.randomBytes(STAMP_BYTES)) };
    const isEmpty = Object.keys(secrets).length === 0;
    if (!isEmpty) await this.#items.set(this.#nameOf(pointer.slot), itemOf(pointer.stamp, secrets));
    const pointing: LocalWrite = {
      ...factOf(POINTER),
      ...(isEmpty ? {} : { value: { ...pointer } }),
    };
    // Deletes what a store has of the time before it was wrapped.
    const deletes = [...SECRET_FACTS].map(factOf);
    await this.#store.commit([...writes.filter((write) => !isSecret(write)), ...deletes, pointing], options);
    this.#pointer = isEmpty ? null : pointer;
    this.#secrets = secrets;
    if (old !== null) await this.#deleteSlot(old.slot);
  }

  #withSecrets(rows: readonly LocalRow[], slots: readonly (string | null)[]): readonly LocalRow[] {
    const pointer = rows.find(({ table, key }) => table === 'facts' && key[1] === POINTER)?.value as unknown as
      | Pointer
      | undefined;
    const item = parseMembers(slots[pointer?.slot ?? -1] ?? '');
    const isOwn = pointer !== undefined && item.stamp === pointer.stamp;
    const old = Object.fromEntries(rows.filter(isSecret).map(({ key, value }) => [key[1], value]));
    this.#pointer = pointer ?? null;
    this.#secrets = { ...(isOwn ? (item.secrets as Secrets) : {}), ...old };
    const others = rows.filter((row) => !isSecret(row) && !(row.table === 'facts' && row.key[1] === POINTER));
    const added = Object.entries(this.#secrets).map(([name, value]) => ({ ...factOf(name), value }) as LocalRow);
    return [...others, ...added];
  }

  /** Moves the tokens of a store that was not wrapped before. */
  async #moveOldFacts(rows: readonly LocalRow[]): Promise<void> {
    const old = rows.filter(isSecret);
    if (old.length > 0) await this.commit(old, { scrubs: true });
  }

  /** The next commit that changes the session overwrites an item that could not be deleted; the server does not accept its token any more. */
  async #deleteSlot(slot: number): Promise<void> {
    await this.#items.delete(this.#nameOf(slot)).catch(() => undefined);
  }

  #nameOf(slot: number): string {
    return `${this.#options.name ?? 'tidemark.session'}.${slot}`;
  }
}

/** Leaves out the oldest ended sessions that do not fit: their tokens expire by themselves. */
function itemOf(stamp: string, { revocations, ...others }: Secrets): string {
  const left = Array.isArray(revocations) ? [...revocations] : [];
  for (;;) {
    const secrets = left.length === 0 ? others : { ...others, revocations: left };
    const item = JSON.stringify({ stamp, secrets });
    if (left.length === 0 || utf8Bytes(item) <= ITEM_BYTES_MAX) return item;
    left.shift();
  }
}

function isSecret({ table, key }: Pick<LocalWrite, 'table' | 'key'>): boolean {
  return table === 'facts' && key[0] === '' && SECRET_FACTS.has(key[1]);
}

function factOf(name: string): Pick<LocalWrite, 'table' | 'key'> {
  return { table: 'facts', key: ['', name] };
}

function definedIn(secrets: Secrets): Secrets {
  return Object.fromEntries(Object.entries(secrets).filter(([, value]) => value !== undefined));
}
