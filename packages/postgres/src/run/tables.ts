import { TidemarkError } from '@tidemark/backend';
import { applyMembers } from '../apply/apply-members.ts';
import { applyObjects } from '../apply/apply-objects.ts';
import type { Applied, ApplyPorts, ApplyTerms } from '../apply/apply-ports.ts';
import { applyUsers } from '../apply/apply-users.ts';
import type { RowChange, TableChanges } from '../apply/batch.ts';
import { readPage, type StoredPage } from '../apply/hidden-source.ts';
import { columnsOf, type MappedTable } from '../apply/row.ts';
import type { Waiting } from '../apply/waiting-rows.ts';
import type { Chunk, TableReader } from '../copy/table-reader.ts';
import { type NamedWork, WorkQueue } from '../copy/work-queue.ts';
import type { MembersPlan, Plan, PlannedTable, TablePlan } from '../mapping/plan.ts';
import type { Lsn, Relation } from '../replication/message.ts';
import type { TableOrigin, TablePhase, TableState } from '../state/connector-state.ts';
import { CreatedRows } from './created-rows.ts';
import type { FillingSources } from './filling-sources.ts';
import {
  newTableState,
  orderedTables,
  planOfRemoved,
  reconcile,
  verifiedAgain,
  verifiesIn,
  withOrigin,
} from './table-states.ts';
import { ChunkSizes, keysSelection, selectionOf, type WindowRead } from './table-work.ts';

export interface TablesParts {
  /** The name of the connector. */
  readonly name: string;
  readonly ports: ApplyPorts;
  readonly reader: TableReader;
  /** Reads the catalogue again. */
  readonly loadPlan: () => Promise<Plan>;
  /** Reads which tables stand behind the names, by label. Rejects when the publication leaves something out. */
  readonly readOrigins: (tables: readonly PlannedTable[]) => Promise<ReadonlyMap<string, TableOrigin>>;
  readonly onCopied: (table: MappedTable, phase: TablePhase) => void;
  readonly filling: FillingSources;
  /** Of these operations of devices, those whose answer Tidemark may still have to write down. */
  readonly recentOperations: (opIds: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** Users who did not exist that are looked up at each heartbeat. */
const LOOKED_UP_MAX = 100;

/** The tables of the mapping: where each stands, what is to be read next, and how changes of its rows are applied. */
export class Tables {
  readonly sizes = new ChunkSizes();
  readonly created: CreatedRows;
  readonly #parts: TablesParts;
  readonly #queue = new WorkQueue();
  /** The columns as the stream described them last. */
  readonly #relations = new Map<string, string>();
  #ordered: readonly MappedTable[];
  #states: Record<string, TableState>;
  #isChanged = true;
  #lookedUp = 0;
  /** How far the work at the head of the queue is. */
  #last: readonly string[] | null = null;

  constructor(parts: TablesParts, plan: Plan, states: Record<string, TableState>) {
    this.#parts = parts;
    this.#ordered = orderedTables(plan);
    this.#states = states;
    this.created = new CreatedRows({
      connector: parts.name,
      ports: parts.ports,
      planOf: (label) => this.#objectsPlan(label),
      recentOperations: parts.recentOperations,
    });
  }

  /** All tables whose changes count, parents before children. */
  get ordered(): readonly MappedTable[] {
    return this.#ordered.filter(({ label }) => this.#phaseOf(label).name !== 'removing');
  }

  get reader(): TableReader {
    return this.#parts.reader;
  }

  /** No later position than this may be stored; null: any. */
  get heldAt(): Lsn | null {
    const [one, other] = [this.#queue.heldAt, this.created.heldAt];
    return one === null || (other !== null && other < one) ? other : one;
  }

  /** Whether the states differ from what was stored. */
  get isChanged(): boolean {
    return this.#isChanged;
  }

  /** Whether `next` may find something to do. It is asked after every transaction, so it looks at memory only. */
  get isBusy(): boolean {
    if (!this.#parts.filling.isDone || this.#queue.first !== null) return true;
    return Object.values(this.#states).some(({ phase }) => phase.name !== 'ready');
  }

  /** The states, to be stored now. */
  takeStates(): Readonly<Record<string, TableState>> {
    this.#isChanged = false;
    return this.#states;
  }

  find(label: string): MappedTable | null {
    return this.ordered.find((table) => table.label === label) ?? null;
  }

  /** Returns the table of a relation; null: it is not in the mapping. Reads the catalogue again when it has changed. */
  async tableOf(relation: Relation): Promise<MappedTable | null> {
    const find = () =>
      this.#ordered.find(({ plan }) => plan.schema === relation.schema && plan.name === relation.name) ?? null;
    const table = find();
    const columns = JSON.stringify(
      relation.columns.map(({ name, typeId, typeModifier }) => [name, typeId, typeModifier]),
    );
    if (table === null || this.#relations.get(table.label) === columns) return table;
    this.#relations.set(table.label, columns);
    if (isAsPlanned(relation, table)) return table;
    await this.replan();
    return find();
  }

  /** Takes what the catalogue says now; tables whose columns have changed are copied again. */
  async replan(): Promise<void> {
    this.#ordered = orderedTables(await this.#parts.loadPlan());
    const before = this.#states;
    this.#states = reconcile(before, this.#ordered, { heals: false, emptied: new Set() });
    this.#isChanged = true;
  }

  /** Whether rows that are not known yet will still be copied. */
  isUncopied(label: string): boolean {
    return ['waiting', 'copying'].includes(this.#phaseOf(label).name);
  }

  truncated(label: string): void {
    const phase = this.#phaseOf(label);
    if (phase.name === 'removing') return;
    this.#setPhase(label, verifiedAgain(phase));
  }

  async reportUnnamed(label: string): Promise<void> {
    const reason = 'a column of its key is null or was not sent, so that it cannot be named';
    await this.#parts.ports.problems.settle(label, [], [{ table: label, key: '', reason }]);
  }

  async apply(
    table: MappedTable,
    changes: TableChanges,
    { heldAt, ...terms }: ApplyTerms & { readonly heldAt: Lsn },
  ): Promise<void> {
    const { toRead, moved, returned = [] } = await this.#applyTo(table, changes, terms);
    const { label } = table;
    this.#askRowsOf(returned, heldAt);
    this.#ask({ label, kind: 'keys', names: new Set(toRead), heldAt });
    if (table.kind === 'users') await this.#wakeRowsOf(loginsIn(table.plan.login.name, changes), heldAt);
    for (const child of this.ordered) {
      if (child.kind !== 'objects' || child.plan.owner.kind !== 'through' || child.plan.owner.parent !== label)
        continue;
      // A child that is not copied yet finds its parent when it is.
      if (this.#phaseOf(child.label).name !== 'waiting') {
        this.#ask({ label: child.label, kind: 'children', names: new Set(moved), heldAt });
      }
    }
  }

  /** Returns the chunk that is to be read next; null: nothing is to be read. Deletes what is left of tables on the way. */
  async next(heldAt: Lsn): Promise<WindowRead | null> {
    const { filling } = this.#parts;
    await filling.release({ ordered: this.ordered, phaseOf: (label) => this.#phaseOf(label), queue: this.#queue });
    for (const [label, state] of Object.entries(this.#states)) {
      if (state.phase.name === 'removing') await this.#remove(label, state, heldAt);
    }
    for (let work = this.#queue.first; work !== null; work = this.#queue.first) {
      const table = this.find(work.label);
      if (table !== null) return this.#namedRead(table, work);
      this.#queue.finish();
    }
    for (const table of this.ordered) {
      const read = await this.#tableRead(table);
      if (read !== null) return read;
    }
    return null;
  }

  /** Looks whether other tables stand behind the names, or other partitions, of which the stream says nothing. */
  async #noteOrigins(): Promise<void> {
    const tables = this.ordered;
    const origins = await this.#parts.readOrigins(tables.map(({ plan }) => plan));
    for (const { label } of tables) {
      const origin = origins.get(label);
      if (origin === undefined) throw new Error(`the database has no table "${label}" any more`);
      const state = this.#state(label);
      if (JSON.stringify(state.origin) === JSON.stringify(origin)) continue;
      this.#states[label] = withOrigin(state, origin);
      this.#isChanged = true;
    }
  }

  /** A heartbeat of this run has come. Looks for what the stream does not say, and for users whom rows wait for. */
  async beat(heldAt: Lsn): Promise<void> {
    this.#parts.filling.caughtUp();
    await this.#noteOrigins();
    const logins = [...new Set(this.#waiting('user').map(({ name }) => name))];
    const start = logins.length === 0 ? 0 : this.#lookedUp % logins.length;
    this.#lookedUp = start + LOOKED_UP_MAX;
    const existing: string[] = [];
    for (const login of logins.slice(start, start + LOOKED_UP_MAX)) if (await this.#isUser(login)) existing.push(login);
    await this.#wakeRowsOf(new Set(existing), heldAt);
  }

  /** Reads the rows that devices have created, once Tidemark has them. */
  async readCreated(): Promise<void> {
    for (const { table: label, id, heldAt } of await this.created.take()) {
      this.#ask({ label, kind: 'keys', names: new Set([id]), heldAt });
    }
  }

  async #wakeRowsOf(logins: ReadonlySet<string>, heldAt: Lsn): Promise<void> {
    for (const { table: label, name } of this.#waiting('user')) {
      if (logins.has(name)) this.#ask({ label, kind: 'owner', names: new Set([name]), heldAt });
    }
  }

  /** Asks for all rows and groups of users who have lost what they had. */
  #askRowsOf(logins: readonly string[], heldAt: Lsn): void {
    if (logins.length === 0) return;
    for (const { kind, label, plan } of this.ordered) {
      const isOfUsers = kind === 'members' || (kind === 'objects' && plan.sourceType === 'user');
      if (!isOfUsers || this.#phaseOf(label).name === 'waiting') continue;
      this.#ask({ label, kind: 'owner', names: new Set(logins), heldAt });
    }
  }

  #applyTo(table: MappedTable, changes: TableChanges, terms: ApplyTerms): Promise<Applied> {
    const { ports, reader } = this.#parts;
    if (table.kind === 'users') {
      const plans = this.ordered.flatMap(({ kind, plan }) => (kind === 'users' ? [plan] : []));
      return applyUsers({ ...ports, isUser: (login) => reader.isUser(plans, login) }, table.plan, changes);
    }
    if (table.kind === 'objects') return applyObjects(ports, table.plan, changes, terms);
    return this.#applyMembers(table.plan, changes);
  }

  #applyMembers(plan: MembersPlan, changes: TableChanges): Promise<Applied> {
    const { ports, reader } = this.#parts;
    const plans = this.ordered.flatMap((table) => (table.kind === 'members' ? [table.plan] : []));
    return applyMembers(ports, plan, changes, (user, group) => reader.isMember(plans, user, group));
  }

  /** Work that is too much to be named becomes a copy of the whole table. */
  #ask(work: NamedWork): void {
    if (work.names.size === 0 || this.#queue.add(work)) return;
    this.#queue.drop(work.label);
    this.#setPhase(work.label, { name: 'waiting', verifies: verifiesIn(this.#state(work.label)) });
  }

  #namedRead(table: MappedTable, work: NamedWork): WindowRead {
    this.#queue.start();
    const { label, kind, names } = work;
    const selection = selectionOf(work, table, (parent) => this.#planOf(parent));
    const finish = async ({ isEnd, last }: Chunk) => {
      this.#last = last;
      if (!isEnd && kind !== 'keys') return;
      this.#last = null;
      if (this.#queue.first !== work) return;
      this.#queue.finish();
      await this.#settle(table, kind, names);
    };
    const named = kind === 'keys' ? [...names] : null;
    const limit = kind === 'keys' ? names.size : this.sizes.of(label);
    return { table, selection, last: this.#last, limit, named, finish };
  }

  /** Nobody waits any more for what has come. */
  async #settle(table: MappedTable, kind: NamedWork['kind'], names: ReadonlySet<string>): Promise<void> {
    const { waiting, assignmentsOf } = this.#parts.ports;
    const over: Waiting[] = [];
    if (kind === 'owner') {
      for (const name of names) if (await this.#isUser(name)) over.push({ kind: 'user', table: table.label, name });
    }
    if (kind === 'children' && table.kind === 'objects' && table.plan.owner.kind === 'through') {
      const parents = await assignmentsOf(table.plan.owner.parent).read(names);
      for (const name of parents.keys()) over.push({ kind: 'parent', table: table.label, name });
    }
    await waiting.remove(over);
  }

  async #tableRead(table: MappedTable): Promise<WindowRead | null> {
    const phase = this.#phaseOf(table.label);
    if (phase.name === 'waiting') {
      this.#setPhase(table.label, { name: 'copying', last: null, rows: 0, verifies: phase.verifies });
      return this.#tableRead(table);
    }
    if (phase.name === 'copying') return this.#copyRead(table, phase);
    return phase.name === 'verifying' ? this.#verifyRead(table, phase) : null;
  }

  #copyRead(table: MappedTable, phase: Extract<TablePhase, { name: 'copying' }>): WindowRead {
    const finish = async ({ isEnd, last, rows }: Chunk) => {
      // It was truncated or changed meanwhile.
      if (this.#phaseOf(table.label) !== phase) return;
      const copied = { ...phase, last: last ?? phase.last, rows: phase.rows + rows.size };
      const after: TablePhase = phase.verifies ? { name: 'verifying', after: 0 } : { name: 'ready' };
      this.#parts.onCopied(table, copied);
      this.#setPhase(table.label, isEnd ? after : copied);
      if (isEnd) this.#parts.onCopied(table, after);
    };
    const limit = this.sizes.of(table.label);
    return { table, selection: { kind: 'all' }, last: phase.last, limit, named: null, finish };
  }

  /** Reads the rows of objects that Tidemark has; those that have no row are deleted. */
  async #verifyRead(table: MappedTable, phase: Extract<TablePhase, { name: 'verifying' }>): Promise<WindowRead | null> {
    const { objects, next } = await this.#storedPage(table.label, this.#state(table.label), phase.after);
    const then: TablePhase = next === null ? { name: 'ready' } : { name: 'verifying', after: next };
    if (objects.length === 0) {
      this.#setPhase(table.label, then);
      this.#parts.onCopied(table, then);
      return this.#tableRead(table);
    }
    const named = objects.map(({ id }) => id);
    const finish = async () => {
      if (this.#phaseOf(table.label) !== phase) return;
      this.#setPhase(table.label, then);
      this.#parts.onCopied(table, then);
    };
    return { table, selection: keysSelection(named, table), last: null, limit: named.length, named, finish };
  }

  /** Deletes what Tidemark has of a table. Users stay, because they have more than these rows. */
  async #remove(label: string, state: TableState, heldAt: Lsn): Promise<void> {
    const isGone = state.source !== null && !(await this.#isSource(state.source));
    // With its source the objects of a shared table are gone as well.
    while (!(isGone && state.sourceType === 'shared')) {
      const { objects } = await this.#storedPage(label, state, 0);
      if (objects.length === 0) break;
      const changes = new Map<string, RowChange>(objects.map(({ id }) => [id, { kind: 'delete' }]));
      const { ports } = this.#parts;
      if (state.kind === 'users' || isGone)
        await ports.assignmentsOf(label).write(new Map([...changes.keys()].map((id) => [id, null])));
      else if (state.kind === 'members') await this.#removeMembers(label, changes);
      else await this.#removeObjects(label, state, { changes, heldAt });
    }
    if (state.source !== null && !isGone) await this.#parts.filling.abandon(state.source, this.#ordered);
    delete this.#states[label];
    const table = this.#ordered.find((one) => one.label === label);
    if (table !== undefined) this.#states[label] = newTableState(table);
    this.#isChanged = true;
  }

  async #removeMembers(label: string, changes: TableChanges): Promise<void> {
    const column = { name: '', typeId: 0, typeModifier: -1 };
    const table = { schema: '', name: '', label, isPartitioned: false, key: [], keepsOwners: true };
    await this.#applyMembers({ ...table, user: column, group: column }, changes);
  }

  async #removeObjects(
    label: string,
    state: TableState,
    { changes, heldAt }: { readonly changes: TableChanges; readonly heldAt: Lsn },
  ): Promise<void> {
    const table = { kind: 'objects', label, plan: planOfRemoved(label, state) } as const;
    await this.apply(table, changes, { isCopy: false, isUncopied: false, heldAt });
  }

  #storedPage(label: string, { source, sourceType }: TableState, after: number): Promise<StoredPage> {
    const { client, assignmentsOf } = this.#parts.ports;
    if (source !== null && sourceType === 'shared') return readPage(client, { source, shared: true }, after);
    return assignmentsOf(label).page(after);
  }

  /** False: somebody has deleted it. */
  async #isSource(name: string): Promise<boolean> {
    try {
      await this.#parts.ports.client.sources.get(name);
      return true;
    } catch (error) {
      if (error instanceof TidemarkError && error.code === 'source_not_found') return false;
      throw error;
    }
  }

  async #isUser(login: string): Promise<boolean> {
    try {
      await this.#parts.ports.client.users.get(login);
      return true;
    } catch (error) {
      if (error instanceof TidemarkError && (error.status === 404 || error.status === 400)) return false;
      throw error;
    }
  }

  #waiting(kind: Waiting['kind']): readonly Waiting[] {
    return this.#parts.ports.waiting.all.filter((one) => one.kind === kind);
  }

  #planOf(label: string): TablePlan {
    const plan = this.#objectsPlan(label);
    if (plan === null) throw new Error(`the table ${label} is not in the mapping`);
    return plan;
  }

  #objectsPlan(label: string): TablePlan | null {
    const table = this.find(label);
    return table?.kind === 'objects' ? table.plan : null;
  }

  #state(label: string): TableState {
    const state = this.#states[label];
    if (state === undefined) throw new Error(`the table ${label} has no state`);
    return state;
  }

  #phaseOf(label: string): TablePhase {
    return this.#state(label).phase;
  }

  #setPhase(label: string, phase: TablePhase): void {
    this.#states[label] = { ...this.#state(label), phase };
    this.#isChanged = true;
  }
}

/** Whether the relation has exactly the columns that are read, with the types of the plan. */
function isAsPlanned(relation: Relation, table: MappedTable): boolean {
  const types = new Map(relation.columns.map(({ name, typeId }) => [name, typeId]));
  const attributes = 'attributes' in table.plan ? table.plan.attributes : [];
  const isSame = [...table.plan.key, ...attributes].every(({ name, typeId }) => types.get(name) === typeId);
  return isSame && types.size === columnsOf(table).length;
}

function loginsIn(column: string, changes: TableChanges): ReadonlySet<string> {
  const logins = [...changes.values()].map((change) => (change.kind === 'put' ? change.row.get(column) : null));
  return new Set(logins.filter((login) => typeof login === 'string'));
}
