import type { MappedTable } from '../apply/row.ts';
import type { MembersPlan, Plan, TablePlan, UsersPlan } from '../mapping/plan.ts';
import type { TableOrigin, TablePhase, TableState } from '../state/connector-state.ts';

/**
 * All tables of a plan, in the order in which they are copied: users, then parents before their children, then members. A table that
 * makes users or members besides something else has a label of its own for each, because each is copied and kept by itself.
 */
export function orderedTables(plan: Plan): readonly MappedTable[] {
  const byLabel = new Map(plan.tables.map((table) => [table.label, table]));
  const others = new Set(byLabel.keys());
  const labelled = <P extends UsersPlan | MembersPlan>(one: P, what: string): P => {
    const label = others.has(one.label) ? `${one.label} (${what})` : one.label;
    others.add(one.label);
    return { ...one, label };
  };
  const ordered = new Map<string, MappedTable>();
  const add = (table: TablePlan) => {
    if (ordered.has(table.label)) return;
    const parent = table.owner.kind === 'through' ? byLabel.get(table.owner.parent) : undefined;
    if (parent !== undefined) add(parent);
    ordered.set(table.label, { kind: 'objects', label: table.label, plan: table });
  };
  for (const table of plan.tables) add(table);
  const users = plan.users.map((one) => labelled(one, 'users'));
  const members = plan.members.map((one) => labelled(one, 'members'));
  return [
    ...users.map((one) => ({ kind: 'users', label: one.label, plan: one }) as const),
    ...ordered.values(),
    ...members.map((one) => ({ kind: 'members', label: one.label, plan: one }) as const),
  ];
}

/** Changes whenever rows that are stored already have to be copied again. */
function signatureOf(table: MappedTable): string {
  const { label: _label, keepsOwners: _keepsOwners, ...plan } = table.plan;
  const rest = 'writing' in plan ? { ...plan, writing: null } : plan;
  return JSON.stringify(rest);
}

export interface Reconciliation {
  /** Whether rows may have been missed, so that all tables are copied and looked up again. */
  readonly heals: boolean;
  /** Labels of tables whose source was new, so that nothing of them is stored. */
  readonly emptied: ReadonlySet<string>;
}

/** What is to be done for each table, from what was stored and what the mapping says now. */
export function reconcile(
  stored: Readonly<Record<string, TableState>>,
  tables: readonly MappedTable[],
  { heals, emptied }: Reconciliation,
): Record<string, TableState> {
  const states: Record<string, TableState> = {};
  for (const table of tables)
    states[table.label] = stateAfter(stored[table.label], table, heals, emptied.has(table.label));
  for (const [label, state] of Object.entries(stored)) {
    if (states[label] === undefined) states[label] = { ...state, phase: { name: 'removing' } };
  }
  return states;
}

function stateAfter(
  before: TableState | undefined,
  table: MappedTable,
  heals: boolean,
  isEmptied: boolean,
): TableState {
  if (before === undefined) return newTableState(table);
  const { origin } = before;
  const fresh = { ...newTableState(table), ...(origin === undefined ? {} : { origin }) };
  const isOther =
    before.kind !== fresh.kind || before.source !== fresh.source || before.sourceType !== fresh.sourceType;
  // What it was before is deleted first; then it begins as a new one.
  if (isOther || before.phase.name === 'removing') return { ...before, phase: { name: 'removing' } };
  if (heals) return { ...fresh, phase: { name: 'waiting', verifies: true } };
  if (isEmptied || before.signature !== fresh.signature) {
    // Under another key the objects of before are looked for as well, because their ids may be those of no row.
    return { ...fresh, phase: { name: 'waiting', verifies: verifiesIn(before) || before.key !== fresh.key } };
  }
  return before;
}

/** Notes which table it is now. What the stream did not say of it is copied or looked up. */
export function withOrigin(state: TableState, origin: TableOrigin): TableState {
  const before = state.origin;
  if (before === undefined || state.phase.name === 'removing') return { ...state, origin };
  const isOther = before.table !== origin.table || before.publication !== origin.publication;
  const isRenamed = isDifferent(before.labels, origin.labels, { absent: false });
  const hasLost = isDifferent(before.partitions, origin.partitions, { absent: true });
  const hasMore = Object.keys(origin.partitions).some((id) => !Object.hasOwn(before.partitions, id));
  if (isOther || isRenamed || hasMore) {
    const verifies = isOther || isRenamed || hasLost || verifiesIn(state);
    return { ...state, origin, phase: { name: 'waiting', verifies } };
  }
  return { ...state, origin, phase: hasLost ? verifiedAgain(state.phase) : state.phase };
}

/** Whether a value of before is another one now. `absent`: whether it counts when there is none. */
function isDifferent(
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
  { absent }: { readonly absent: boolean },
): boolean {
  return Object.entries(before).some(([id, text]) => (now[id] === undefined ? absent : now[id] !== text));
}

/** The rows that Tidemark has are looked up from the beginning. */
export function verifiedAgain(phase: TablePhase): TablePhase {
  const isUncopied = phase.name === 'waiting' || phase.name === 'copying';
  return isUncopied ? { ...phase, verifies: true } : { name: 'verifying', after: 0 };
}

/** Whether rows that are gone are still to be looked for. */
export function verifiesIn({ phase }: TableState): boolean {
  return phase.name === 'verifying' || ('verifies' in phase && phase.verifies);
}

export function newTableState(table: MappedTable): TableState {
  return {
    kind: table.kind,
    source: table.kind === 'objects' ? table.plan.source : null,
    sourceType: table.kind === 'objects' ? table.plan.sourceType : null,
    key: JSON.stringify(table.plan.key),
    signature: signatureOf(table),
    phase: { name: 'waiting', verifies: false },
  };
}

/** Enough of a plan to delete what a table has left. */
export function planOfRemoved(label: string, { source, sourceType }: TableState): TablePlan {
  const column = { name: '', typeId: 0, typeModifier: -1 };
  return {
    schema: '',
    name: '',
    label,
    isPartitioned: false,
    key: [],
    keepsOwners: sourceType !== 'shared',
    source: source ?? '',
    sourceType: sourceType ?? 'shared',
    attributes: [],
    owner: sourceType === 'shared' || sourceType === null ? { kind: 'shared' } : { kind: sourceType, column },
    writing: null,
  };
}
