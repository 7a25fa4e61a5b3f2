import type { TidemarkClient } from '@tidemark/backend';
import { leave } from '../apply/apply-members.ts';
import { Assignments } from '../apply/assignments.ts';
import type { ToJson } from '../apply/attributes.ts';
import { declareSource, hiddenSource, READ_ONLY, type SourceSettings } from '../apply/hidden-source.ts';
import { Problems } from '../apply/problems.ts';
import type { MappedTable } from '../apply/row.ts';
import { RowsUnderWay } from '../apply/rows-under-way.ts';
import { WaitingRows } from '../apply/waiting-rows.ts';
import { TableReader } from '../copy/table-reader.ts';
import type { Plan, PlannedTable, TablePlan, WritingPlan } from '../mapping/plan.ts';
import { formatLsn, parseLsn } from '../replication/lsn.ts';
import type { Lsn } from '../replication/message.ts';
import type { SystemIdentity } from '../replication/replication-connection.ts';
import { createSlot, dropSlot, readSlot, type Slot } from '../replication/slot.ts';
import type { Sql } from '../sql/open-sql.ts';
import type { ConnectorState, StateStore, TableOrigin, TablePhase } from '../state/connector-state.ts';
import { buildConverter, type Convert } from '../values/build-converter.ts';
import type { Types } from '../values/type-info.ts';
import { recentOperations } from '../writing/operations.ts';
import type { ConnectorEvents } from './connector-events.ts';
import { declareFilled, FillingSources } from './filling-sources.ts';
import { decideStart, isLost } from './start-reason.ts';
import { orderedTables, reconcile, withOrigin } from './table-states.ts';
import { Tables, type TablesStart } from './tables.ts';

/** What the mapping and the catalogue say together. */
export interface LoadedPlan {
  readonly plan: Plan;
  readonly types: Types;
}

export interface SessionSetup {
  readonly client: TidemarkClient;
  readonly name: string;
  readonly slot: string;
  readonly sql: Sql;
  readonly store: StateStore;
  readonly loadPlan: () => Promise<LoadedPlan>;
  /** Reads which tables stand behind the names, by label. Rejects when the publication leaves something out. */
  readonly readOrigins: (tables: readonly PlannedTable[]) => Promise<ReadonlyMap<string, TableOrigin>>;
  /** Returns a text that is another one when the columns or the keys of the tables have changed. */
  readonly readShape: (tables: readonly PlannedTable[]) => Promise<string>;
  readonly events: ConnectorEvents;
  readonly onCopied: (table: MappedTable, phase: TablePhase) => void;
  /** The adapter that makes what devices change; null: there is none, so that they can change nothing. */
  readonly adapter: string | null;
  readonly waitingMax: number | undefined;
  readonly refusedMax: number | undefined;
}

export interface PreparedSession {
  readonly tables: Tables;
  readonly reader: TableReader;
  readonly position: Lsn;
  readonly recentXids: readonly number[];
  readonly stateAt: (position: Lsn, recentXids: readonly number[]) => ConnectorState;
}

/** Finds out where to begin: looks at the slot, the database and what is stored, and heals what may have been missed. */
export async function prepareSession(setup: SessionSetup, identity: SystemIdentity): Promise<PreparedSession> {
  const { sql, slot: slotName, store, events } = setup;
  const loaded = await setup.loadPlan();
  const origins = await setup.readOrigins(orderedTables(loaded.plan).map(({ plan }) => plan));
  const stored = await store.read();
  // Postgres cannot decode for a publication what is older than it.
  let slot = await readSlot(sql, slotName);
  // A slot of another database says more than its publication: which database this is now.
  if (stored !== null && slot?.isOfThisDatabase === true && isOtherPublication(stored, origins)) {
    await dropSlot(sql, slotName);
    slot = null;
  }
  const { emptied, filling } = await declareSources(setup, loaded.plan, stored?.tables ?? {});
  const start = decideStart(stored, identity, slot);
  if (start.kind === 'first' && slot?.isOfThisDatabase === false) throw foreignSlot(slot);
  if (start.kind === 'heal') events.onHeal?.(start.reason);
  const begin = await beginOf(setup, start.kind === 'resume' ? stored : null, slot);
  const heals = start.kind === 'heal';
  // What heals reads everything.
  const pending = start.kind === 'resume' ? (stored?.pending ?? []) : [];
  const reconciled = reconcile(stored?.tables ?? {}, orderedTables(loaded.plan), { heals, emptied });
  const states = withOrigins(reconciled, origins);
  const fixed = { version: 1, systemId: identity.systemId, timeline: identity.timeline, slot: slotName } as const;
  events.onTables?.(states);
  // Also when nothing has changed: what is stored must never be older than what the slot was told.
  const recentXids = stored?.recentXids ?? [];
  await store.write({ ...fixed, position: formatLsn(begin), tables: states, recentXids, pending });
  const { tables, reader } = await openTables(setup, loaded, { states, filling, pending, position: begin });
  return {
    tables,
    reader,
    position: begin,
    recentXids: start.kind === 'resume' ? (stored?.recentXids ?? []) : [],
    stateAt: (position, recentXids) => ({
      ...fixed,
      position: formatLsn(position),
      ...tables.take(),
      recentXids,
    }),
  };
}

function isOtherPublication({ tables }: ConnectorState, origins: ReadonlyMap<string, TableOrigin>): boolean {
  return Object.entries(tables).some(([label, { origin }]) => {
    const now = origins.get(label);
    return origin !== undefined && now !== undefined && origin.publication !== now.publication;
  });
}

function withOrigins(
  states: ConnectorState['tables'],
  origins: ReadonlyMap<string, TableOrigin>,
): ConnectorState['tables'] {
  const entries = Object.entries(states).map(([label, state]) => {
    const origin = origins.get(label);
    return [label, origin === undefined ? state : withOrigin(state, origin)] as const;
  });
  return Object.fromEntries(entries);
}

function foreignSlot({ name, database }: Slot): Error {
  return new Error(
    `the replication slot "${name}" belongs to the database "${database}" of the same server: name another "slot" in the mapping`,
  );
}

/** Where the stream begins. Makes the slot when there is none that can be used. */
async function beginOf(
  { sql, slot: name }: SessionSetup,
  resumed: ConnectorState | null,
  slot: Awaited<ReturnType<typeof readSlot>>,
): Promise<Lsn> {
  if (resumed !== null) return parseLsn(resumed.position);
  if (slot?.isOfThisDatabase === true && !isLost(slot) && slot.confirmedLsn !== null) return slot.confirmedLsn;
  if (slot !== null) await dropSlot(sql, name);
  return createSlot(sql, name);
}

interface DeclaredSources {
  /** The labels of the tables whose source was missing. */
  readonly emptied: ReadonlySet<string>;
  /** The sources that devices do not see yet. */
  readonly filling: FillingSources;
}

/** Declares what is missing. */
async function declareSources(
  { client, name, adapter }: SessionSetup,
  plan: Plan,
  stored: ConnectorState['tables'],
): Promise<DeclaredSources> {
  const { isNew } = await declareSource(client, hiddenSource(name), { partitionType: 'group', filling: false });
  const emptied = new Set<string>(isNew ? orderedTables(plan).map(({ label }) => label) : []);
  const filling: string[] = [];
  for (const table of plan.tables) {
    const declared = await declareFilled(client, table, {
      isKnown: stored[table.label]?.source === table.source,
      settings: writingSettings(table.writing, adapter),
    });
    if (declared.isNew) emptied.add(table.label);
    if (declared.isFilling) filling.push(table.source);
  }
  return { emptied, filling: new FillingSources(client, filling) };
}

/** How a source is declared, by what devices may change. Nothing is ever queried, because the stream brings all changes. */
function writingSettings(writing: WritingPlan | null, adapter: string | null): SourceSettings {
  if (writing === null || adapter === null) return READ_ONLY;
  const { references, conflicts } = writing;
  const more = conflicts === null ? {} : { conflicts };
  return { read_only: false, adapter, poll_interval: -1, references, ...more };
}

interface OpenedStates extends TablesStart {
  readonly filling: FillingSources;
}

async function openTables(setup: SessionSetup, loaded: LoadedPlan, { filling, ...start }: OpenedStates) {
  const { client, name, sql, events, loadPlan, readOrigins, readShape, onCopied, waitingMax, refusedMax } = setup;
  const hidden = hiddenSource(name);
  const problems = new Problems(client, hidden, (problem) => events.onProblem?.(problem), refusedMax);
  const waiting = new WaitingRows(client, hidden, waitingMax);
  await problems.load();
  await waiting.load();
  const assignments = new Map<string, Assignments>();
  const assignmentsOf = (label: string) => {
    const known = assignments.get(label) ?? new Assignments(client, hidden, label);
    assignments.set(label, known);
    return known;
  };
  const converters = new Converters(loaded);
  const reader = new TableReader(sql, (label) => converters.tableOf(label));
  const reload = async () => converters.take(await loadPlan());
  const underWay = new RowsUnderWay(client, name);
  const members = orderedTables(loaded.plan).flatMap((table) => (table.kind === 'members' ? [table.plan] : []));
  await underWay.settle({
    assignmentsOf,
    leave: async (user, group) => {
      if (!(await reader.isMember(members, user, group))) await leave({ client }, { user, group });
    },
  });
  const ports = { client, toJson: converters.toJson, problems, waiting, underWay, assignmentsOf };
  const recent = (opIds: readonly string[]) => recentOperations(sql, opIds);
  const reads = { loadPlan: reload, readOrigins, readShape, recentOperations: recent };
  const tables = new Tables({ name, ports, reader, onCopied, filling, ...reads }, loaded.plan, start);
  return { tables, reader };
}

/** The plan and the types as the catalogue had them last. */
class Converters {
  #loaded: LoadedPlan;
  #converters = new Map<string, Convert>();

  constructor(loaded: LoadedPlan) {
    this.#loaded = loaded;
  }

  readonly toJson: ToJson = ({ typeId, typeModifier }, text) => {
    const key = `${typeId} ${typeModifier}`;
    const convert = this.#converters.get(key) ?? buildConverter(this.#loaded.types, typeId, typeModifier);
    this.#converters.set(key, convert);
    return convert(text);
  };

  take(loaded: LoadedPlan): Plan {
    this.#loaded = loaded;
    this.#converters = new Map();
    return loaded.plan;
  }

  tableOf(label: string): TablePlan {
    const table = this.#loaded.plan.tables.find((one) => one.label === label);
    if (table === undefined) throw new Error(`the table ${label} is not in the mapping`);
    return table;
  }
}
