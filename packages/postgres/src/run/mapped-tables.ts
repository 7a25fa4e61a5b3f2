import type { MappedTable } from '../apply/row.ts';
import type { Plan, TablePlan } from '../mapping/plan.ts';
import type { TableOrigin, TablePhase, TableState } from '../state/connector-state.ts';
import { newTableState, orderedTables, reconcile, verifiesIn, withOrigin } from './table-states.ts';

/** The tables of the mapping, and where the work on each stands. */
export class MappedTables {
  #all: readonly MappedTable[];
  #states: Record<string, TableState>;
  #isChanged = true;

  constructor(plan: Plan, states: Readonly<Record<string, TableState>>) {
    this.#all = orderedTables(plan);
    this.#states = { ...states };
  }

  /** All of the mapping, parents before children. */
  get all(): readonly MappedTable[] {
    return this.#all;
  }

  /** Those whose changes count, parents before children. */
  get ordered(): readonly MappedTable[] {
    return this.#all.filter(({ label }) => this.phaseOf(label).name !== 'removing');
  }

  /** Those whose rows have a parent in this table. */
  childrenOf(label: string): readonly MappedTable[] {
    return this.ordered.filter(
      (table) => table.kind === 'objects' && table.plan.owner.kind === 'through' && table.plan.owner.parent === label,
    );
  }

  /** Whether something differs from what was stored. */
  get isChanged(): boolean {
    return this.#isChanged;
  }

  /** Whether every table is copied and compared. */
  get areReady(): boolean {
    return Object.values(this.#states).every(({ phase }) => phase.name === 'ready');
  }

  /** Whether rows may have been missed, so that what Tidemark has of a table is being compared with it. */
  get isComparing(): boolean {
    return Object.values(this.#states).some(verifiesIn);
  }

  /** The labels and states of tables that are in the mapping no more. */
  get removed(): readonly (readonly [string, TableState])[] {
    return Object.entries(this.#states).filter(([, { phase }]) => phase.name === 'removing');
  }

  /** The states, to be stored now. */
  take(): Readonly<Record<string, TableState>> {
    this.#isChanged = false;
    return this.#states;
  }

  /** Something else has changed that is stored with the states. */
  touch(): void {
    this.#isChanged = true;
  }

  find(label: string): MappedTable | null {
    return this.ordered.find((table) => table.label === label) ?? null;
  }

  /** Null: the table has no objects, or is not in the mapping. */
  objectsPlan(label: string): TablePlan | null {
    const table = this.find(label);
    return table?.kind === 'objects' ? table.plan : null;
  }

  planOf(label: string): TablePlan {
    const plan = this.objectsPlan(label);
    if (plan === null) throw new Error(`the table ${label} is not in the mapping`);
    return plan;
  }

  state(label: string): TableState {
    const state = this.#states[label];
    if (state === undefined) throw new Error(`the table ${label} has no state`);
    return state;
  }

  phaseOf(label: string): TablePhase {
    return this.state(label).phase;
  }

  setPhase(label: string, phase: TablePhase): void {
    this.#states[label] = { ...this.state(label), phase };
    this.#isChanged = true;
  }

  setOrigin(label: string, origin: TableOrigin): void {
    const state = this.state(label);
    if (JSON.stringify(state.origin) === JSON.stringify(origin)) return;
    this.#states[label] = withOrigin(state, origin);
    this.#isChanged = true;
  }

  /** Whether the tables are as the plan says. */
  isPlanned(plan: Plan): boolean {
    return JSON.stringify(orderedTables(plan)) === JSON.stringify(this.#all);
  }

  /** Takes what the catalogue says now; tables whose columns have changed are copied again. */
  replan(plan: Plan): void {
    this.#all = orderedTables(plan);
    this.#states = reconcile(this.#states, this.#all, { heals: false, emptied: new Set() });
    this.#isChanged = true;
  }

  /** Nothing is left of the table. When it is in the mapping, it begins as a new one. */
  begin(label: string): void {
    delete this.#states[label];
    const table = this.#all.find((one) => one.label === label);
    if (table !== undefined) this.#states[label] = newTableState(table);
    this.#isChanged = true;
  }
}
