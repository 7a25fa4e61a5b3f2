import { type Attributes, type TidemarkClient, TidemarkError } from '@tidemark/backend';
import type { Database } from './database.ts';

export type SourceName = 'WorkOrder' | 'PartUse' | 'Part';

/** An object as devices should have it now, or null when they should not have it. */
export type Look = (source: SourceName, user: string | null, id: string) => Attributes | null;

/** Rows sent at a time. */
const BATCH_ROWS = 1_000;
const RETRY_MS = 5_000;

/**
 * Notes, in the transaction of a change, which object Tidemark has to hear of. The note names the object and not its
 * content: when it is sent, devices get what is true then.
 */
export function note(database: Database, source: SourceName, user: string | null, id: string | number): void {
  database.run('INSERT INTO outbox (source, user_id, object_id) VALUES (?, ?, ?)', source, user, String(id));
}

interface Noted {
  readonly source: SourceName;
  readonly user: string | null;
  readonly ids: Set<string>;
}

/** Carries what was noted to Tidemark. A note goes when Tidemark has confirmed it, and not before. */
export class Pusher {
  readonly #database: Database;
  readonly #tidemark: TidemarkClient;
  readonly #look: Look;
  readonly #stopping = new AbortController();
  #running: Promise<boolean> | null = null;
  #retry: NodeJS.Timeout | undefined;

  constructor(database: Database, tidemark: TidemarkClient, look: Look) {
    this.#database = database;
    this.#tidemark = tidemark;
    this.#look = look;
  }

  /** Sends all there is; true when nothing is left. What cannot be sent now is tried again later. */
  async drain(): Promise<boolean> {
    // Whoever comes while it runs may have noted more, so it waits and then has a look of its own.
    while (this.#running !== null) await this.#running;
    if (this.#stopping.signal.aborted) return false;
    this.#running = this.#sendAll();
    try {
      return await this.#running;
    } finally {
      this.#running = null;
    }
  }

  /** After this the database is not touched any more. What is not sent yet is sent after the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#retry);
    while (this.#running !== null) await this.#running;
  }

  async #sendAll(): Promise<boolean> {
    try {
      while (await this.#sendBatch()) {
        // As long as there is more.
      }
      return true;
    } catch (error) {
      if (this.#stopping.signal.aborted) return false;
      if (!(error instanceof TidemarkError)) throw error;
      console.error(`field-service: Tidemark was not told (${error.code}: ${error.message}); trying again`);
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => void this.drain(), RETRY_MS).unref();
      return false;
    }
  }

  async #sendBatch(): Promise<boolean> {
    const rows = this.#database.all('SELECT * FROM outbox ORDER BY seq LIMIT ?', BATCH_ROWS);
    const last = rows.at(-1);
    if (last === undefined) return false;
    const groups = new Map<string, Noted>();
    for (const { source, user_id: user, object_id } of rows) {
      const key = JSON.stringify([source, user]);
      const group = groups.get(key) ?? { source: source as SourceName, user: user as string | null, ids: new Set() };
      group.ids.add(String(object_id));
      groups.set(key, group);
    }
    for (const group of groups.values()) await this.#send(group);
    this.#database.run('DELETE FROM outbox WHERE seq <= ?', Number(last.seq));
    return true;
  }

  async #send({ source, user, ids }: Noted): Promise<void> {
    // In one transaction, because this SQLite takes its lock anew for each.
    const found = this.#database.transaction(() => [...ids].map((id) => [id, this.#look(source, user, id)] as const));
    const there = found.filter((entry): entry is readonly [string, Attributes] => entry[1] !== null);
    const gone = found.filter(([, attributes]) => attributes === null).map(([id]) => id);
    const options = { signal: this.#stopping.signal, ...(user === null ? {} : { user }) };
    if (there.length > 0) await this.#tidemark.push.objects(source, there, options);
    if (gone.length > 0) await this.#tidemark.push.deletes(source, gone, options);
  }
}
