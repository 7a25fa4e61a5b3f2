import type { TidemarkClient } from '@tidemark/backend';
import type { ApplyTerms } from '../apply/apply-ports.ts';
import { Batch, type RowChange, type TableChanges } from '../apply/batch.ts';
import { bytesOf, type MappedTable } from '../apply/row.ts';
import { Overlay } from '../copy/overlay.ts';
import { RecentTransactions } from '../copy/recent-transactions.ts';
import { type Chunk, MARK_PREFIX } from '../copy/table-reader.ts';
import { HEARTBEAT_PREFIX } from '../replication/heartbeat.ts';
import type { Arrival, Lsn, Message, Relation } from '../replication/message.ts';
import { CREATED_PREFIX, readCreatedMessage } from '../writing/operations.ts';
import { batchSink, passChange, type RowMessage, type StreamedTable, streamedTable } from './changes.ts';
import type { WindowRead } from './table-work.ts';
import type { Tables } from './tables.ts';

/** The stream of a replication slot, as a session uses it. */
export interface SessionStream extends AsyncIterable<Arrival> {
  readonly bufferedBytes: number;
  acknowledge(lsn: Lsn): void;
  close(): Promise<void>;
}

export interface SessionOptions {
  /** Distinguishes the marks of this run from those of earlier ones. */
  readonly runId: string;
  /** A batch is applied when it has so many rows or bytes, also within a transaction. */
  readonly batchRowsMax: number;
  readonly batchBytesMax: number;
  /** Where the stream begins. */
  readonly position: Lsn;
  readonly recentXids: readonly number[];
  readonly client: TidemarkClient;
  readonly nowMs: () => number;
  /** Waits until what the socket has is read. */
  readonly turn: () => Promise<void>;
  /** Waits before a chunk is read again. */
  readonly pause: () => Promise<void>;
  readonly onLag: (lagMs: number) => void;
  readonly onRows: (rows: number) => void;
  /** Stores the position, then it is acknowledged. */
  readonly store: (position: Lsn, recentXids: readonly number[]) => Promise<void>;
}

/** A chunk between its marks. */
interface Window {
  readonly number: number;
  readonly read: WindowRead;
  readonly chunk: Promise<Chunk>;
  /** Null: the stream has not arrived at the mark before the chunk. */
  opened: { readonly overlay: Overlay; readonly xids: readonly number[] } | null;
}

/** One connection: applies the stream in order, and copies between marks inside of it. */
export class Session {
  readonly #options: SessionOptions;
  readonly #stream: SessionStream;
  readonly #tables: Tables;
  readonly #recent: RecentTransactions;
  readonly #streamed = new Map<number, StreamedTable | null>();
  #batch = new Batch();
  #position: { applied: Lsn; received: Lsn; stored: Lsn };
  #window: Window | null = null;
  #windows = 0;
  #phase: 'between' | 'transaction' | 'last_of_window' = 'between';
  #failure: Error | null = null;

  constructor(stream: SessionStream, tables: Tables, options: SessionOptions) {
    this.#stream = stream;
    this.#tables = tables;
    this.#options = options;
    this.#recent = new RecentTransactions(options.recentXids);
    this.#position = { applied: options.position, received: options.position, stored: options.position };
  }

  /** Ends when the stream is closed, and throws when it fails. */
  async run(): Promise<void> {
    this.#stream.acknowledge(this.#position.stored);
    await this.#advance();
    for await (const arrival of this.#stream) {
      if (this.#failure !== null) break;
      const work = arrival.type === 'data' ? this.#take(arrival.message, arrival.lsn) : null;
      // Most messages only add to the batch; to wait for nothing would cost more than to take them.
      if (work !== null) await work;
      if (this.#phase === 'between') await this.#betweenTransactions();
    }
    if (this.#failure !== null) throw this.#failure;
  }

  async #betweenTransactions(): Promise<void> {
    if (this.#batch.rows > 0 && this.#stream.bufferedBytes === 0) await this.#flushIfIdle();
    if (this.#tables.isBusy || this.#tables.isChanged) await this.#advance();
  }

  /** A buffer that was just emptied is not an idle stream: more may wait in the socket. */
  async #flushIfIdle(): Promise<void> {
    await this.#options.turn();
    if (this.#stream.bufferedBytes === 0) await this.#flush();
  }

  /** Null: the message is taken already. */
  #take(message: Message, lsn: Lsn): Promise<void> | null {
    switch (message.type) {
      case 'begin':
        this.#phase = 'transaction';
        this.#recent.add(message.xid);
        return null;
      case 'commit':
        return this.#commit(message.endLsn);
      case 'relation':
        return this.#describe(message.relation);
      case 'insert':
      case 'update':
      case 'delete':
        return this.#change(message);
      case 'truncate':
        return this.#truncate(message.relationIds);
      case 'message':
        return this.#readMark(message.prefix, new TextDecoder().decode(message.content), lsn);
      default:
        return null;
    }
  }

  async #describe(relation: Relation): Promise<void> {
    const table = await this.#tables.tableOf(relation);
    this.#streamed.set(relation.id, table === null ? null : streamedTable(relation, table));
  }

  #commit(endLsn: Lsn): Promise<void> | null {
    this.#position.received = endLsn;
    const isLastOfWindow = this.#phase === 'last_of_window';
    this.#phase = 'between';
    if (isLastOfWindow) return this.#endWindow();
    if (this.#recent.isLong) return this.#forgetSeen();
    return this.#isFull() ? this.#flush() : null;
  }

  /** A chunk whose first mark has not come is compared with all transactions that its own snapshot does not see. */
  async #forgetSeen(): Promise<void> {
    const isAwaited = this.#window !== null && this.#window.opened === null;
    const snapshot = isAwaited ? (await this.#window?.chunk)?.snapshot : await this.#tables.reader.snapshot();
    if (snapshot !== undefined) this.#recent.forget(snapshot);
    if (this.#isFull()) await this.#flush();
  }

  async #endWindow(): Promise<void> {
    await this.#flush();
    await this.#closeWindow();
  }

  #change(message: RowMessage): Promise<void> | null {
    const streamed = this.#streamedTable(message.relationId);
    if (streamed === null) return null;
    const { label } = streamed.table;
    const overlay = this.#overlayOf(label);
    const isKnown = passChange(streamed, message, [
      batchSink(this.#batch, label, (id) => this.#tables.created.isHeld(label, id)),
      ...(overlay === null ? [] : [overlay]),
    ]);
    if (!isKnown) return this.#reportUnnamed(label);
    if (overlay?.isFull) return this.#narrow(overlay);
    return this.#isFull() ? this.#applyBatch() : null;
  }

  /** The chunk, which does not wait for the stream, says which rows count. */
  async #narrow(overlay: Overlay): Promise<void> {
    if (this.#window !== null) {
      const { rows } = await this.#window.chunk;
      overlay.narrow(new Set([...rows.keys(), ...(this.#window.read.named ?? [])]));
    }
    if (this.#isFull()) await this.#applyBatch();
  }

  async #reportUnnamed(label: string): Promise<void> {
    await this.#tables.reportUnnamed(label);
    if (this.#isFull()) await this.#applyBatch();
  }

  async #truncate(relationIds: readonly number[]): Promise<void> {
    // What came before it must not be applied after it.
    await this.#applyBatch();
    for (const id of relationIds) {
      const streamed = this.#streamedTable(id);
      if (streamed === null) continue;
      this.#overlayOf(streamed.table.label)?.truncate();
      this.#tables.truncated(streamed.table.label);
    }
  }

  async #readMark(prefix: string, content: string, lsn: Lsn): Promise<void> {
    if (prefix === HEARTBEAT_PREFIX) return this.#heartbeat(content, lsn);
    if (prefix === CREATED_PREFIX) return this.#hold(content);
    const window = this.#window;
    if (prefix !== MARK_PREFIX || window === null) return;
    if (content === this.#mark(window.number, 'low')) {
      window.opened = { overlay: new Overlay(), xids: this.#recent.list() };
    } else if (content === this.#mark(window.number, 'high')) this.#phase = 'last_of_window';
  }

  /** The row came before it, in the same transaction. */
  async #hold(content: string): Promise<void> {
    const message = readCreatedMessage(content);
    if (message === null) return;
    const { table, id } = message;
    // Tidemark may still have the row that had this key before, so its being there says nothing about the answer.
    const isRepeated = message.isRepeated || this.#batch.isReplaced(table, id);
    const row = { ...message, isRepeated, heldAt: this.#position.stored };
    if (await this.#tables.created.add(row)) this.#batch.remove(table, id);
  }

  /** Arrives between transactions, and lets an idle database forget its log. */
  async #heartbeat(content: string, lsn: Lsn): Promise<void> {
    const [runId, sentAtMs] = content.split(' ');
    if (this.#phase !== 'between') return;
    await this.#applyBatch();
    if (lsn > this.#position.received) this.#position.received = lsn;
    await this.#flush();
    await this.#tables.readCreated();
    if (runId !== this.#options.runId) return;
    this.#options.onLag(Math.max(0, this.#options.nowMs() - Number(sentAtMs)));
    await this.#tables.beat(this.#position.stored);
  }

  /** Applies what has arrived and stores the position. */
  async #flush(): Promise<void> {
    await this.#applyBatch();
    this.#position.applied = this.#position.received;
    await this.#store();
  }

  async #applyBatch(): Promise<void> {
    if (this.#batch.rows === 0) return;
    const batch = this.#batch;
    this.#batch = new Batch();
    for (const table of this.#tables.ordered) {
      const changes = batch.changesOf(table.label);
      await this.#apply(table, changes, { isCopy: false, isUncopied: this.#tables.isUncopied(table.label) });
    }
  }

  async #apply(table: MappedTable, changes: TableChanges, terms: Omit<ApplyTerms, 'onMoved'>): Promise<void> {
    if (changes.size === 0) return;
    const keep = () => this.#store();
    await this.#tables.apply(table, changes, { ...terms, heldAt: this.#position.stored, keep });
    this.#options.onRows(changes.size);
  }

  async #store(): Promise<void> {
    const { applied, stored } = this.#position;
    const heldAt = this.#tables.heldAt;
    const position = heldAt !== null && heldAt < applied ? heldAt : applied;
    if (position <= stored && !this.#tables.isChanged) return;
    await this.#options.store(position, this.#recent.list());
    this.#position.stored = position;
    this.#stream.acknowledge(position);
  }

  /** Begins the next window, unless one is open. */
  async #advance(): Promise<void> {
    if (this.#window !== null || this.#failure !== null) return;
    const read = await this.#tables.next(this.#position.stored, () => this.#store());
    if (this.#tables.isChanged && this.#phase === 'between' && this.#batch.rows === 0) await this.#store();
    if (read === null) return;
    this.#windows++;
    const number = this.#windows;
    const marks = { low: this.#mark(number, 'low'), high: this.#mark(number, 'high') };
    const chunk = this.#tables.reader.readBetween(read, marks);
    chunk.catch((error: Error) => this.#fail(error));
    this.#window = { number, read, chunk, opened: null };
  }

  async #closeWindow(): Promise<void> {
    const window = this.#window;
    this.#window = null;
    if (window === null || window.opened === null) return;
    const chunk = await window.chunk;
    const { overlay, xids } = window.opened;
    if (!xids.every((xid) => chunk.snapshot.sees(xid))) return this.#options.pause();
    this.#recent.forget(chunk.snapshot);
    const { rows, gone } = overlay.close(chunk.rows, window.read.named);
    const changes = new Map<string, RowChange>();
    for (const [id, row] of rows) changes.set(id, { kind: 'put', row, isNew: false });
    for (const id of gone) changes.set(id, { kind: 'delete' });
    // Those that are held back are read later.
    const { created } = this.#tables;
    for (const id of changes.keys()) if (created.isHeld(window.read.table.label, id)) changes.delete(id);
    await this.#apply(window.read.table, changes, { isCopy: true, isUncopied: false });
    this.#tables.sizes.learn(window.read.table.label, rows.size, sumOf(rows.values(), bytesOf));
    await window.read.finish(chunk);
    await this.#store();
  }

  #streamedTable(relationId: number): StreamedTable | null {
    const streamed = this.#streamed.get(relationId);
    if (streamed === undefined)
      throw new Error(`the stream changes relation ${relationId}, which it has not described`);
    // The plan may be a newer one than when the relation was described.
    const table = streamed === null ? null : this.#tables.find(streamed.table.label);
    if (streamed === null || table === null) return null;
    return table === streamed.table ? streamed : streamedTable(streamed.relation, table);
  }

  #overlayOf(label: string): Overlay | null {
    return this.#window?.read.table.label === label ? (this.#window.opened?.overlay ?? null) : null;
  }

  #isFull(): boolean {
    return this.#batch.rows >= this.#options.batchRowsMax || this.#batch.bytes >= this.#options.batchBytesMax;
  }

  #mark(number: number, which: 'low' | 'high'): string {
    return `${this.#options.runId} ${number} ${which}`;
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    void this.#stream.close();
  }
}

function sumOf<T>(values: Iterable<T>, size: (value: T) => number): number {
  let sum = 0;
  for (const value of values) sum += size(value);
  return sum;
}
