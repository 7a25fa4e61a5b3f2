import type { ApplyTerms } from '../apply/apply-ports.ts';
import { Batch, type TableChanges } from '../apply/batch.ts';
import type { MappedTable } from '../apply/row.ts';
import type { Overlay } from '../copy/overlay.ts';
import { RecentTransactions } from '../copy/recent-transactions.ts';
import { MARK_PREFIX } from '../copy/table-reader.ts';
import { HEARTBEAT_PREFIX } from '../replication/heartbeat.ts';
import type { Arrival, Lsn, Message, Relation } from '../replication/message.ts';
import { CREATED_PREFIX, readCreatedMessage } from '../writing/operations.ts';
import { batchSink, passChange, type RowMessage, type StreamedTable, streamedTable } from './changes.ts';
import { CopyWindow } from './copy-window.ts';
import type { SessionOptions, SessionStream } from './session-options.ts';
import { SideWork } from './side-work.ts';
import type { WindowRead } from './table-work.ts';
import type { Tables } from './tables.ts';

type KeepAlive = Extract<Arrival, { readonly type: 'keepalive' }>;

/**
 * One connection: applies the stream in order, and copies between marks inside of it. While one batch or chunk is applied, the next
 * one is read, and none more: what is applied never overtakes what came before it.
 */
export class Session {
  readonly #options: SessionOptions;
  readonly #stream: SessionStream;
  readonly #tables: Tables;
  readonly #recent: RecentTransactions;
  /** What the mapping makes of each relation; nothing of those that are not in it. */
  readonly #streamed = new Map<number, readonly StreamedTable[]>();
  #batch = new Batch();
  #position: { applied: Lsn; received: Lsn; stored: Lsn };
  #window: CopyWindow | null = null;
  #windows = 0;
  #phase: 'between' | 'transaction' | 'last_of_window' = 'between';
  readonly #work: SideWork;

  constructor(stream: SessionStream, tables: Tables, options: SessionOptions) {
    this.#stream = stream;
    this.#tables = tables;
    this.#options = options;
    this.#recent = new RecentTransactions(options.recentXids);
    this.#work = new SideWork(() => void stream.close());
    this.#position = { applied: options.position, received: options.position, stored: options.position };
  }

  /** Ends when the stream is closed, and throws when it fails. Nothing is under way afterwards. */
  async run(): Promise<void> {
    this.#stream.acknowledge(this.#position.stored);
    try {
      await this.#advance();
      for await (const arrival of this.#stream) {
        if (this.#work.hasFailed) break;
        const work = arrival.type === 'data' ? this.#take(arrival.message, arrival.lsn) : this.#answer(arrival);
        // Most messages only add to the batch; to wait for nothing would cost more than to take them.
        if (work !== null) await work;
        if (this.#phase === 'between') await this.#betweenTransactions();
      }
      await this.#work.done();
    } finally {
      await this.#work.ended();
    }
  }

  async #betweenTransactions(): Promise<void> {
    if (this.#batch.rows > 0 && this.#stream.bufferedBytes === 0) await this.#flushIfIdle();
    if (this.#window === null && (this.#tables.isBusy || this.#tables.isChanged)) await this.#advance();
  }

  /** A buffer that was just emptied is not an idle stream: more may wait in the socket, or come while a batch is applied. */
  async #flushIfIdle(): Promise<void> {
    await this.#options.turn();
    if (this.#stream.bufferedBytes > 0) return;
    await this.#work.done();
    if (this.#stream.bufferedBytes === 0) await this.#flush();
  }

  /**
   * A server that wants an answer may be about to end: it waits until everything that it has sent is acknowledged. Null: it knows
   * already.
   */
  #answer({ lsn, wantsReply }: KeepAlive): Promise<void> | null {
    if (!wantsReply || this.#phase !== 'between' || lsn <= this.#position.received) return null;
    this.#position.received = lsn;
    return this.#flush();
  }

  /** Null: the message is taken already. */
  #take(message: Message, lsn: Lsn): Promise<void> | null {
    switch (message.type) {
      case 'begin':
        this.#phase = 'transaction';
        this.#recent.add(message.xid);
        this.#batch.beginTransaction();
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
    await this.#work.done();
    const tables = await this.#tables.tablesOf(relation);
    this.#streamed.set(
      relation.id,
      tables.map((table) => streamedTable(relation, table)),
    );
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
    const isAwaited = this.#window?.isOpen === false;
    const snapshot = isAwaited ? (await this.#window?.chunk)?.snapshot : await this.#tables.reader.snapshot();
    if (snapshot !== undefined) this.#recent.forget(snapshot);
    if (this.#isFull()) await this.#flush();
  }

  #change(message: RowMessage): Promise<void> | null {
    let more: Promise<void> | null = null;
    for (const streamed of this.#streamedTables(message.relationId)) {
      const { label } = streamed.table;
      const overlay = this.#overlayOf(label);
      const isKnown = passChange(streamed, message, [
        batchSink(this.#batch, label, (id) => this.#tables.created.isHeld(label, id)),
        ...(overlay === null ? [] : [overlay]),
      ]);
      if (!isKnown) more = this.#reportUnnamed(label, more);
      else if (overlay?.isFull) more = this.#narrow(overlay, more);
    }
    if (more !== null) return more.then(() => this.#applyLarge());
    return this.#isLarge() ? this.#applyPart() : null;
  }

  async #narrow(overlay: Overlay, before: Promise<void> | null): Promise<void> {
    await before;
    await this.#window?.narrow(overlay);
  }

  async #reportUnnamed(label: string, before: Promise<void> | null): Promise<void> {
    await before;
    await this.#work.done();
    await this.#tables.reportUnnamed(label);
  }

  async #applyLarge(): Promise<void> {
    if (this.#isLarge()) await this.#applyPart();
  }

  async #truncate(relationIds: readonly number[]): Promise<void> {
    // What came before it must not be applied after it.
    await this.#applyPart();
    await this.#work.done();
    for (const { table } of relationIds.flatMap((id) => this.#streamedTables(id))) {
      this.#overlayOf(table.label)?.truncate();
      this.#tables.truncated(table.label);
    }
  }

  async #readMark(prefix: string, content: string, lsn: Lsn): Promise<void> {
    if (prefix === HEARTBEAT_PREFIX) return this.#heartbeat(content, lsn);
    if (prefix === CREATED_PREFIX) return this.#hold(content);
    if (prefix !== MARK_PREFIX || this.#window === null) return;
    if (this.#window.takeMark(content, () => this.#recent.list())) this.#phase = 'last_of_window';
  }

  /** The row came before it, in the same transaction. */
  async #hold(content: string): Promise<void> {
    const message = readCreatedMessage(content);
    if (message === null) return;
    await this.#work.done();
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
    if (lsn > this.#position.received) this.#position.received = lsn;
    await this.#flush();
    await this.#work.done();
    await this.#tables.readCreated();
    if (runId !== this.#options.runId) return;
    this.#options.onLag(Math.max(0, this.#options.nowMs() - Number(sentAtMs)));
    await this.#tables.beat(this.#position.stored, this.#options.nowMs);
  }

  /** Applies what has arrived, then stores the position. */
  #flush(): Promise<void> {
    const { received } = this.#position;
    const batch = this.#takeBatch();
    return this.#work.begin(async () => {
      await this.#applyBatch(batch);
      this.#position.applied = received;
      await this.#store();
    });
  }

  /** Applies what has arrived of a transaction. It comes again after a kill, so the position stays. */
  #applyPart(): Promise<void> {
    const batch = this.#takeBatch();
    return this.#work.begin(() => this.#applyBatch(batch));
  }

  #takeBatch(): Batch {
    const batch = this.#batch;
    this.#batch = new Batch();
    return batch;
  }

  async #applyBatch(batch: Batch): Promise<void> {
    if (batch.rows === 0) return;
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
    await this.#work.done();
    const read = await this.#tables.next(this.#position.stored, () => this.#store());
    if (this.#tables.isChanged && this.#phase === 'between' && this.#batch.rows === 0) await this.#store();
    if (read !== null) this.#openWindow(read);
  }

  #openWindow(read: WindowRead): void {
    this.#windows++;
    this.#window = new CopyWindow(this.#tables.reader, read, `${this.#options.runId} ${this.#windows}`);
    this.#window.chunk.catch((error: Error) => this.#work.fail(error));
  }

  async #endWindow(): Promise<void> {
    await this.#flush();
    const window = this.#window;
    this.#window = null;
    if (window === null || !window.isOpen) return;
    const { read } = window;
    const { label } = read.table;
    // Those that are held back are read later.
    const closed = await window.close((id) => this.#tables.created.isHeld(label, id));
    if (closed === null) return this.#options.pause();
    const { chunk, changes, rows, bytes } = closed;
    this.#recent.forget(chunk.snapshot);
    this.#tables.sizes.learn(label, rows, bytes);
    const next = this.#tables.following(read, chunk);
    if (next !== null) this.#openWindow(next);
    await this.#work.begin(async () => {
      await this.#apply(read.table, changes, { isCopy: true, isUncopied: false });
      await read.finish(chunk);
      await this.#store();
      await this.#tables.release();
    });
  }

  #streamedTables(relationId: number): readonly StreamedTable[] {
    const streamed = this.#streamed.get(relationId);
    if (streamed === undefined)
      throw new Error(`the stream changes relation ${relationId}, which it has not described`);
    // The plan may be a newer one than when the relation was described.
    if (streamed.every(({ table }) => this.#tables.find(table.label) === table)) return streamed;
    return streamed.flatMap((one) => {
      const table = this.#tables.find(one.table.label);
      return table === null ? [] : [streamedTable(one.relation, table)];
    });
  }

  #overlayOf(label: string): Overlay | null {
    return this.#window?.overlayOf(label) ?? null;
  }

  #isFull({ rows, bytes }: Pick<Batch, 'rows' | 'bytes'> = this.#batch): boolean {
    return rows >= this.#options.batchRowsMax || bytes >= this.#options.batchBytesMax;
  }

  /** Whether the transaction is more than a batch by itself. A smaller one is applied when it is complete. */
  #isLarge(): boolean {
    return this.#isFull() && this.#isFull(this.#batch.lastTransaction);
  }
}
