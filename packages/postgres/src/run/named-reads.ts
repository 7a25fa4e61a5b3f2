import { type TidemarkClient, TidemarkError } from '@tidemark/backend';
import type { ApplyPorts } from '../apply/apply-ports.ts';
import type { MappedTable } from '../apply/row.ts';
import type { Waiting } from '../apply/waiting-rows.ts';
import type { Chunk } from '../copy/table-reader.ts';
import { type NamedWork, WorkQueue } from '../copy/work-queue.ts';
import type { Lsn } from '../replication/message.ts';
import type { PendingRead } from '../state/connector-state.ts';
import type { MappedTables } from './mapped-tables.ts';
import { verifiesIn } from './table-states.ts';
import { type ChunkSizes, selectionOf, type WindowRead } from './table-work.ts';

export interface NamedReadsParts {
  readonly tables: MappedTables;
  readonly ports: Pick<ApplyPorts, 'client' | 'waiting' | 'assignmentsOf'>;
  readonly sizes: ChunkSizes;
}

/** Users who did not exist that are looked up at each heartbeat. */
const LOOKED_UP_MAX = 100;

/** The rows that are to be read by their keys, after their parents or after their users, beside the copies of whole tables. */
export class NamedReads {
  readonly #parts: NamedReadsParts;
  readonly #queue = new WorkQueue();
  /** How far the work at the head of the queue is. */
  #last: readonly string[] | null = null;

  constructor(parts: NamedReadsParts) {
    this.#parts = parts;
  }

  get queue(): Pick<WorkQueue, 'first' | 'last' | 'isDone' | 'heldAt'> {
    return this.#queue;
  }

  /** What the stream does not ask for again after a restart, so that it is stored with the position. */
  get pending(): readonly PendingRead[] {
    return this.#queue.all.flatMap(({ label, kind, names }) =>
      kind === 'keys' ? [] : [{ table: label, kind, names: [...names] }],
    );
  }

  /** Asks again for what was pending at the end of the last run. */
  restore(pending: readonly PendingRead[], heldAt: Lsn): void {
    for (const { table, kind, names } of pending) {
      if (this.#parts.tables.find(table) !== null) this.#ask({ label: table, kind, names: new Set(names), heldAt });
    }
  }

  get isIdle(): boolean {
    return this.#queue.first === null && this.#parts.tables.areReady;
  }

  /** Asks for a copy of a whole table. */
  askTable(label: string): void {
    const { tables } = this.#parts;
    if (tables.find(label) === null) return;
    this.#queue.drop(label);
    tables.setPhase(label, { name: 'waiting', verifies: verifiesIn(tables.state(label)) });
  }

  askKeys(label: string, ids: Iterable<string>, heldAt: Lsn): void {
    this.#ask({ label, kind: 'keys', names: new Set(ids), heldAt });
  }

  /** Asks for the children of parents that belong to somebody else from now on. */
  askChildren(parent: string, ids: readonly string[], heldAt: Lsn): void {
    for (const { label } of this.#parts.tables.childrenOf(parent)) {
      // A child that is not copied yet finds its parent when it is.
      if (this.#isUncopied(label)) continue;
      this.#ask({ label, kind: 'children', names: new Set(ids), heldAt });
    }
  }

  /** Asks for all rows and groups of a user who has lost what he had. */
  askRowsOf(login: string, heldAt: Lsn): void {
    for (const { kind, label, plan } of this.#parts.tables.ordered) {
      const isOfUsers = kind === 'members' || (kind === 'objects' && plan.sourceType === 'user');
      if (isOfUsers && !this.#isUncopied(label)) this.#ask({ label, kind: 'owner', names: new Set([login]), heldAt });
    }
  }

  /** Asks for the rows that wait for these users. When not all that is waited for is in memory, any table may have some. */
  wakeRowsOf(logins: ReadonlySet<string>, heldAt: Lsn): void {
    const { waiting } = this.#parts.ports;
    if (!waiting.isComplete) for (const login of logins) this.askRowsOf(login, heldAt);
    for (const { table: label, name } of waiting.forUsers(logins)) {
      this.#ask({ label, kind: 'owner', names: new Set([name]), heldAt });
    }
  }

  /** Looks whether users whom rows wait for exist by now. */
  async lookForUsers(heldAt: Lsn): Promise<void> {
    const { client, waiting } = this.#parts.ports;
    const existing = new Set<string>();
    for (const login of await waiting.someUsers(LOOKED_UP_MAX)) if (await isUser(client, login)) existing.add(login);
    this.wakeRowsOf(existing, heldAt);
  }

  /** The next rows to be read; null: none. */
  next(): WindowRead | null {
    for (let work = this.#queue.first; work !== null; work = this.#queue.first) {
      const table = this.#parts.tables.find(work.label);
      if (table !== null) return this.#read(table, work);
      this.#finish(work);
    }
    return null;
  }

  #isUncopied(label: string): boolean {
    return this.#parts.tables.phaseOf(label).name === 'waiting';
  }

  /** Work that is too much to be named becomes a copy of the whole table. */
  #ask(work: NamedWork): void {
    if (work.names.size === 0) return;
    const { tables } = this.#parts;
    if (work.kind !== 'keys') tables.touch();
    if (this.#queue.add(work)) return;
    this.askTable(work.label);
  }

  #finish({ kind }: NamedWork): void {
    this.#queue.finish();
    if (kind !== 'keys') this.#parts.tables.touch();
  }

  #read(table: MappedTable, work: NamedWork): WindowRead {
    this.#queue.start();
    const { tables, sizes } = this.#parts;
    const { label, kind, names } = work;
    const selection = selectionOf(work, table, (parent) => tables.planOf(parent));
    const finish = async ({ isEnd, last }: Chunk) => {
      this.#last = last;
      if (!isEnd && kind !== 'keys') return;
      this.#last = null;
      if (this.#queue.first !== work) return;
      this.#finish(work);
      await this.#settle(table, kind, names);
    };
    const named = kind === 'keys' ? [...names] : null;
    const limit = kind === 'keys' ? names.size : sizes.of(label);
    return { table, selection, last: this.#last, limit, named, finish };
  }

  /** Nobody waits any more for what has come. */
  async #settle(table: MappedTable, kind: NamedWork['kind'], names: ReadonlySet<string>): Promise<void> {
    const { client, waiting, assignmentsOf } = this.#parts.ports;
    const over: Waiting[] = [];
    if (kind === 'owner') {
      for (const name of names) {
        if (await isUser(client, name)) over.push({ kind: 'user', table: table.label, name });
      }
    }
    if (kind === 'children' && table.kind === 'objects' && table.plan.owner.kind === 'through') {
      const parents = await assignmentsOf(table.plan.owner.parent).read(names);
      for (const name of parents.keys()) over.push({ kind: 'parent', table: table.label, name });
    }
    await waiting.remove(over);
  }
}

async function isUser(client: TidemarkClient, login: string): Promise<boolean> {
  try {
    await client.users.get(login);
    return true;
  } catch (error) {
    if (error instanceof TidemarkError && (error.status === 404 || error.status === 400)) return false;
    throw error;
  }
}
