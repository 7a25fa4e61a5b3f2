import { IDBFactory } from 'fake-indexeddb';
import { expect, it, vi } from 'vitest';
import type { LocalStore, LocalWrite } from '../ports/local-store.ts';
import { answered, type IndexedDb, type IndexedDbFactory } from './indexeddb.ts';
import { openIndexedDbStore } from './indexeddb-store.ts';

/** A browser that can close the connections of a page, as it does when it deletes the data of a site. */
class Browser {
  readonly indexedDB = new IDBFactory() as unknown as IndexedDbFactory;
  readonly connections: IndexedDb[] = [];
  /** The names of the databases that pages have opened. */
  readonly opened: string[] = [];

  /** What one page sees of it. */
  page(): IndexedDbFactory {
    return {
      open: (name, version) => {
        this.opened.push(name);
        const request = this.indexedDB.open(name, version);
        const { addEventListener } = request as unknown as EventTarget;
        addEventListener.call(request, 'success', () => this.connections.push(request.result));
        return request;
      },
      deleteDatabase: (name) => this.indexedDB.deleteDatabase(name),
    };
  }

  /** How many logs pages have begun. */
  get logs(): number {
    return this.opened.filter((name) => name.startsWith('tidemark:empty:')).length;
  }

  closeConnections({ tellsPages = true } = {}): void {
    for (const connection of this.connections.splice(0)) {
      connection.close();
      if (tellsPages) connection.onclose?.(undefined as never);
    }
  }

  async deleteData(): Promise<void> {
    const listeners = this.connections.map((connection) => connection.onclose);
    for (const connection of this.connections.splice(0)) connection.close();
    await answered(this.indexedDB.deleteDatabase('tidemark'));
    for (const listener of listeners) listener?.(undefined as never);
  }

  async names(): Promise<readonly string[]> {
    const { databases } = this.indexedDB as unknown as { databases(): Promise<readonly { readonly name: string }[]> };
    return (await databases.call(this.indexedDB)).map(({ name }) => name);
  }
}

const fact = (name: string): LocalWrite => ({ table: 'facts', key: ['', name], value: 1 });
const factsOf = async (store: LocalStore) => (await store.load()).map(({ key }) => key[1]);

/** Opens a store with one row, and lists the errors by which it says that it is lost. */
async function newStore(browser: Browser) {
  const store = await openIndexedDbStore({ indexedDB: browser.page() });
  const errors: { readonly code: string; readonly detail: string }[] = [];
  store.onLost?.(({ code, detail }) => errors.push({ code, detail }));
  await store.load();
  await store.commit([fact('before')]);
  return { store, errors };
}

it.each([true, false])(
  '[LOCAL-12] a connection that the browser closes is opened again, and no commit is lost (the page is told: %s)',
  async (tellsPages) => {
    const browser = new Browser();
    const { store, errors } = await newStore(browser);
    browser.closeConnections({ tellsPages });
    await store.commit([fact('after')]);
    expect(await factsOf(store)).toEqual(['after', 'before']);
    browser.closeConnections({ tellsPages });
    expect(await factsOf(store)).toEqual(['after', 'before']);
    expect(errors).toEqual([]);
    await store.close();
  },
);

/** Closes the connections of the page in the middle of the next transaction, and tells its failure after `wait`. */
function cutNext(browser: Browser, db: IndexedDb, wait?: () => Promise<void>): void {
  const transaction = db.transaction.bind(db);
  db.transaction = (...given) => {
    const tx = transaction(...given);
    const objectStore = tx.objectStore.bind(tx);
    tx.objectStore = (name) => {
      tx.objectStore = objectStore;
      const { onabort } = tx;
      if (wait !== undefined) tx.onabort = () => wait().then(() => onabort?.call(tx, undefined as never));
      queueMicrotask(() => {
        tx.abort();
        browser.closeConnections();
      });
      return objectStore(name);
    };
    db.transaction = transaction;
    return tx;
  };
}

it('[LOCAL-12] a commit that was under way when the browser closed the connection is made again', async () => {
  const browser = new Browser();
  const { store, errors } = await newStore(browser);
  for (const db of browser.connections) cutNext(browser, db);
  await store.commit([fact('after')]);
  expect(await factsOf(store)).toEqual(['after', 'before']);
  expect(errors).toEqual([]);
  await store.close();
});

it('[LOCAL-12] a commit whose failure is told only when the connection is open again is made again', async () => {
  const browser = new Browser();
  const { store, errors } = await newStore(browser);
  const [db] = browser.connections;
  if (db === undefined) throw new Error('the store has a connection');
  cutNext(browser, db, async () => void (await vi.waitFor(() => expect(browser.logs).toBe(2))));
  await store.commit([fact('after')]);
  expect(await factsOf(store)).toEqual(['after', 'before']);
  expect(errors).toEqual([]);
  await store.close();
});

const GONE = { code: 'store_failed', detail: 'the database was deleted or upgraded; open the device again' };

it('[LOCAL-12] a database that the browser deletes is told at once by every store that has it open, and not created anew', async () => {
  const browser = new Browser();
  const { store, errors } = await newStore(browser);
  const follower = await openIndexedDbStore({ indexedDB: browser.page() });
  const others: unknown[] = [];
  follower.onLost?.(({ code, detail }) => others.push({ code, detail }));
  await browser.deleteData();
  await expect(store.commit([fact('after')])).rejects.toMatchObject(GONE);
  await expect(follower.load()).rejects.toMatchObject(GONE);
  expect([errors, others]).toEqual([[GONE], [GONE]]);
  expect(await browser.names()).toEqual([]);
  await store.close();
  await expect(store.commit([fact('after')])).rejects.toMatchObject({ code: 'closed' });
});

it('[LOCAL-12] a database that another tab has created anew meanwhile is not taken for the one that was deleted', async () => {
  const browser = new Browser();
  const { store, errors } = await newStore(browser);
  const deleted = browser.deleteData();
  const other = await openIndexedDbStore({ indexedDB: browser.indexedDB });
  await deleted;
  await expect(store.commit([fact('after')])).rejects.toMatchObject(GONE);
  expect(errors).toEqual([GONE]);
  expect(await other.load()).toEqual([]);
});

it('[LOCAL-12] after the browser closed the connection, a database that another tab has loaded belongs to that tab', async () => {
  const browser = new Browser();
  const { store, errors } = await newStore(browser);
  const other = await openIndexedDbStore({ indexedDB: browser.indexedDB });
  await other.load();
  browser.closeConnections();
  await expect(store.commit([fact('after')])).rejects.toMatchObject({ code: 'store_in_use' });
  expect(errors).toEqual([]);
});

it('[LOCAL-12] a store that is closed opens nothing again', async () => {
  const browser = new Browser();
  const { store, errors } = await newStore(browser);
  await store.close();
  browser.closeConnections();
  await expect(store.load()).rejects.toMatchObject({ code: 'closed' });
  expect(errors).toEqual([]);
});

it('[LOCAL-12] a store that is closed while its connection is opened again leaves none open', async () => {
  const browser = new Browser();
  const { store, errors } = await newStore(browser);
  browser.closeConnections();
  await store.close();
  const [again] = await vi.waitFor(() => {
    const own = browser.connections.filter((db) => 'name' in db && db.name === 'tidemark');
    expect(own).toHaveLength(1);
    return own;
  });
  const begin = () => again?.transaction(['facts'], 'readonly');
  await vi.waitFor(() => expect(begin).toThrow(expect.objectContaining({ name: 'InvalidStateError' })));
  expect(errors).toEqual([]);
});

it('[LOCAL-12] a connection that is opened again begins a new log, as the first one did', async () => {
  const browser = new Browser();
  const { store } = await newStore(browser);
  expect(browser.logs).toBe(1);
  browser.closeConnections();
  await store.commit([fact('after')]);
  expect(browser.logs).toBe(2);
  await store.close();
});
