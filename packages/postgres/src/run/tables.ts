import { applyMembers } from '../apply/apply-members.ts';
import { applyObjects } from '../apply/apply-objects.ts';
import type { Applied, ApplyPorts } from '../apply/apply-ports.ts';
import { applyUsers } from '../apply/apply-users.ts';
import type { TableChanges } from '../apply/batch.ts';
import { columnsOf, type MappedTable, nameIn } from '../apply/row.ts';
import type { Chunk, TableReader } from '../copy/table-reader.ts';
import type { ColumnPlan, MembersPlan, Plan, PlannedTable } from '../mapping/plan.ts';
import type { Lsn, Relation } from '../replication/message.ts';
import type { PendingRead, TableOrigin, TablePhase, TableState } from '../state/connector-state.ts';
import { CreatedRows } from './created-rows.ts';
import type { FillingSources } from './filling-sources.ts';
import { MappedTables } from './mapped-tables.ts';
import { NamedReads } from './named-reads.ts';
import { RefusedRows } from './refused-rows.ts';
import { SpacedWork } from './spaced-work.ts';
import { StoredRows } from './stored-rows.ts';
import { TableCopies } from './table-copies.ts';
import { planOfRemoved, verifiedAgain } from './table-states.ts';
import { ChunkSizes, type WindowRead } from './table-work.ts';

export interface TablesParts {
  /** The name of the connector. */
  readonly name: string;
  readonly ports: ApplyPorts;
  readonly reader: TableReader;
  /** Reads the catalogue again. */
  readonly loadPlan: () => Promise<Plan>;
  /** Reads which tables stand behind the names, by label. Rejects when the publication leaves something out. */
  readonly readOrigins: (tables: readonly PlannedTable[]) => Promise<ReadonlyMap<string, TableOrigin>>;
  /** Returns a text that is another one when the columns or the keys of the tables have changed. */
  readonly readShape: (tables: readonly PlannedTable[]) => Promise<string>;
  readonly onCopied: (table: MappedTable, phase: TablePhase) => void;
  readonly filling: FillingSources;
  /** Of these operations of devices, those whose answer Tidemark may still have to write down. */
  readonly recentOperations: (opIds: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** Where a run begins. */
export interface TablesStart {
  readonly states: Readonly<Record<string, TableState>>;
  readonly pending: readonly PendingRead[];
  readonly position: Lsn;
}

/** How a session has changes applied. */
export interface SessionTerms {
  readonly isCopy: boolean;
  readonly isUncopied: boolean;
  /** The stored position. */
  readonly heldAt: Lsn;
  /** Stores the states of the tables and what is to be read. */
  readonly keep: () => Promise<void>;
}

/** The tables of the mapping: how changes of their rows are applied, and what is to be read next. */
export class Tables {
  readonly sizes = new ChunkSizes();
  readonly created: CreatedRows;
  readonly #parts: TablesParts;
  readonly #tables: MappedTables;
  readonly #named: NamedReads;
  readonly #copies: TableCopies;
  readonly #stored: StoredRows;
  readonly #refused: RefusedRows;
  /** The columns of relations as the stream described them last. */
  readonly #relations = new Map<string, string>();
  /** The columns and keys of the tables when the catalogue was read last; null: not known. */
  #shape: string | null = null;
  readonly #looks = new SpacedWork();

  constructor(parts: TablesParts, plan: Plan, { states, pending, position }: TablesStart) {
    const { name, ports, onCopied, recentOperations } = parts;
    this.#parts = parts;
    const tables = new MappedTables(plan, states);
    this.#tables = tables;
    this.#named = new NamedReads({ tables, ports, sizes: this.sizes });
    this.#stored = new StoredRows(ports);
    this.#copies = new TableCopies({ tables, stored: this.#stored, sizes: this.sizes, onCopied });
    this.#refused = new RefusedRows(ports.problems, this.#named);
    this.created = new CreatedRows({
      ...{ connector: name, ports, recentOperations },
      planOf: (label) => tables.objectsPlan(label),
    });
    this.#named.restore(pending, position);
  }

  /** All tables whose changes count, parents before children. */
  get ordered(): readonly MappedTable[] {
    return this.#tables.ordered;
  }

  get reader(): TableReader {
    return this.#parts.reader;
  }

  /** No later position than this may be stored; null: any. */
  get heldAt(): Lsn | null {
    const [one, other] = [this.#named.queue.heldAt, this.created.heldAt];
    return one === null || (other !== null && other < one) ? other : one;
  }

  /** Whether the states, or what is to be read, differ from what was stored. */
  get isChanged(): boolean {
    return this.#tables.isChanged;
  }

  /** Whether `next` may find something to do. It is asked after every transaction, so it looks at memory only. */
  get isBusy(): boolean {
    return this.#parts.filling.mayRelease || this.#named.queue.first !== null || !this.#tables.areReady;
  }

  /** Whether rows may have been missed, so that nobody knows whether everything is here. */
  get isComparing(): boolean {
    return this.#tables.isComparing;
  }

  /** What is to be stored now. */
  take(): { readonly tables: Readonly<Record<string, TableState>>; readonly pending: readonly PendingRead[] } {
    return { tables: this.#tables.take(), pending: this.#named.pending };
  }

  find(label: string): MappedTable | null {
    return this.#tables.find(label);
  }

  /**
   * Returns what the mapping makes of a relation, which may be several: its rows may be objects and users. Reads the catalogue again
   * when it has changed.
   */
  async tablesOf(relation: Relation): Promise<readonly MappedTable[]> {
    const find = () =>
      this.#tables.all.filter(({ plan }) => plan.schema === relation.schema && plan.name === relation.name);
    const tables = find();
    const columns = JSON.stringify(
      relation.columns.map(({ name, typeId, typeModifier }) => [name, typeId, typeModifier]),
    );
    const name = JSON.stringify([relation.schema, relation.name]);
    if (tables.length === 0 || this.#relations.get(name) === columns) return tables;
    this.#relations.set(name, columns);
    if (tables.every((table) => isAsPlanned(relation, table))) return tables;
    this.#tables.replan(await this.#parts.loadPlan());
    return find();
  }

  /** Whether rows that are not known yet will still be copied. */
  isUncopied(label: string): boolean {
    return ['waiting', 'copying'].includes(this.#tables.phaseOf(label).name);
  }

  truncated(label: string): void {
    const phase = this.#tables.phaseOf(label);
    if (phase.name !== 'removing') this.#tables.setPhase(label, verifiedAgain(phase));
  }

  async reportUnnamed(label: string): Promise<void> {
    const reason = 'a column of its key is null or was not sent, so that it cannot be named';
    await this.#parts.ports.problems.settle(label, [], [{ table: label, key: '', reason }]);
  }

  async apply(table: MappedTable, changes: TableChanges, terms: SessionTerms): Promise<void> {
    const { heldAt } = terms;
    const { toRead } = await this.#applyTo(table, changes, terms);
    this.#named.askKeys(table.label, toRead, heldAt);
    if (table.kind === 'users') this.#named.wakeRowsOf(loginsIn(table.plan.login, changes), heldAt);
  }

  /** Returns the chunk that is to be read next; null: nothing is to be read. Deletes what is left of tables on the way. */
  async next(heldAt: Lsn, keep: () => Promise<void>): Promise<WindowRead | null> {
    await this.release();
    for (const [label, state] of this.#tables.removed) await this.#remove(label, state, { heldAt, keep });
    return this.#named.next() ?? this.#copies.next();
  }

  /**
   * Returns the chunk behind one that is about to be applied, so that it is read meanwhile; null: `next` has to say what comes
   * next, once it is applied.
   */
  following(read: WindowRead, chunk: Chunk): WindowRead | null {
    return this.#named.queue.first === null ? (read.following?.(chunk) ?? null) : null;
  }

  /** Shows devices the sources that have become complete. */
  async release(): Promise<void> {
    const phaseOf = (label: string) => this.#tables.phaseOf(label);
    await this.#parts.filling.release({ ordered: this.ordered, phaseOf, queue: this.#named.queue });
  }

  /** A heartbeat of this run has come. Looks for what the stream does not say, for users whom rows wait for, and for rows that were refused. */
  async beat(heldAt: Lsn, nowMs: () => number): Promise<void> {
    this.#parts.filling.caughtUp();
    // On a slow machine more heartbeats would come meanwhile than are looked at.
    await this.#looks.run(nowMs, () => this.#lookAtTables());
    await this.#named.lookForUsers(heldAt);
    this.#refused.beat(heldAt);
  }

  /** Reads the rows that devices have created, once Tidemark has them. */
  async readCreated(): Promise<void> {
    for (const { table, id, heldAt } of await this.created.take()) this.#named.askKeys(table, [id], heldAt);
  }

  /** Looks for what the stream does not say of tables, or says only when one of their rows changes. */
  async #lookAtTables(): Promise<void> {
    const plans = this.ordered.map(({ plan }) => plan);
    const { readShape, readOrigins } = this.#parts;
    const [shape, origins] = await Promise.all([readShape(plans), readOrigins(plans)]);
    await this.#noteShape(shape);
    this.#noteOrigins(origins);
  }

  /** Takes other columns and keys. */
  async #noteShape(shape: string): Promise<void> {
    if (shape === this.#shape) return;
    const plan = await this.#parts.loadPlan();
    this.#shape = shape;
    if (!this.#tables.isPlanned(plan)) this.#tables.replan(plan);
  }

  /** Notes other tables behind the names, and other partitions. */
  #noteOrigins(origins: ReadonlyMap<string, TableOrigin>): void {
    for (const { label } of this.ordered) {
      const origin = origins.get(label);
      if (origin === undefined) throw new Error(`the database has no table "${label}" any more`);
      this.#tables.setOrigin(label, origin);
    }
  }

  #applyTo(table: MappedTable, changes: TableChanges, { heldAt, keep, ...terms }: SessionTerms): Promise<Applied> {
    const { ports, reader } = this.#parts;
    if (table.kind === 'members') return this.#applyMembers(table.plan, changes);
    if (table.kind === 'objects') {
      const onMoved = async (ids: readonly string[]) => {
        this.#named.askChildren(table.label, ids, heldAt);
        if (this.isChanged) await keep();
      };
      return applyObjects(ports, table.plan, changes, { ...terms, onMoved });
    }
    const plans = this.ordered.flatMap(({ kind, plan }) => (kind === 'users' ? [plan] : []));
    const onReturn = async (login: string) => {
      this.#named.askRowsOf(login, heldAt);
      if (this.isChanged) await keep();
    };
    return applyUsers({ ...ports, onReturn, isUser: (login) => reader.isUser(plans, login) }, table.plan, changes);
  }

  #applyMembers(plan: MembersPlan, changes: TableChanges): Promise<Applied> {
    const { ports, reader } = this.#parts;
    const plans = this.ordered.flatMap((table) => (table.kind === 'members' ? [table.plan] : []));
    return applyMembers(ports, plan, changes, (user, group) => reader.isMember(plans, user, group));
  }

  /** Deletes what Tidemark has of a table. */
  async #remove(label: string, state: TableState, terms: Pick<SessionTerms, 'heldAt' | 'keep'>): Promise<void> {
    const hasSource = await this.#stored.remove(label, state, {
      members: async (_, changes) => {
        const column = { name: '', typeId: 0, typeModifier: -1 };
        const table = { schema: '', name: '', label, isPartitioned: false, key: [], keepsOwners: true };
        await this.#applyMembers({ ...table, user: column, group: column }, changes);
      },
      objects: async (_, before, changes) => {
        const table = { kind: 'objects', label, plan: planOfRemoved(label, before) } as const;
        await this.apply(table, changes, { ...terms, isCopy: false, isUncopied: false });
      },
    });
    if (state.source !== null && hasSource) await this.#parts.filling.abandon(state.source, this.#tables.all);
    this.#tables.begin(label);
  }
}

/** Whether the relation has exactly the columns that are read, with the types of the plan. */
function isAsPlanned(relation: Relation, table: MappedTable): boolean {
  const columns = new Map(relation.columns.map((column) => [column.name, column]));
  const attributes = 'attributes' in table.plan ? table.plan.attributes : [];
  const isSame = [...table.plan.key, ...attributes].every(({ name, typeId, typeModifier }) => {
    const column = columns.get(name);
    // The modifier has the digits of a time or a number, which are part of its text.
    return column?.typeId === typeId && column.typeModifier === typeModifier;
  });
  return isSame && columns.size === columnsOf(table).length;
}

function loginsIn(column: ColumnPlan, changes: TableChanges): ReadonlySet<string> {
  const logins = [...changes.values()].map((change) => (change.kind === 'put' ? nameIn(change.row, column) : null));
  return new Set(logins.filter((login) => typeof login === 'string'));
}
