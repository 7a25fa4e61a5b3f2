import type { Attributes } from '@tidemark/backend';
import { nameProblem } from '@tidemark/protocol';
import type { TablePlan } from '../mapping/plan.ts';
import type { Applied, ApplyPorts, ApplyTerms } from './apply-ports.ts';
import type { Assignment } from './assignments.ts';
import { forEachAtOnce } from './at-once.ts';
import { attributesOf } from './attributes.ts';
import type { RowChange, TableChanges } from './batch.ts';
import { decideRow, parentIds, type RowVerdict } from './decide-row.ts';
import { readNamed } from './hidden-source.ts';
import { type Owned, parcelsOf } from './parcels.ts';
import type { RowProblem } from './problems.ts';
import { type PushTarget, pushRows, pushTogether } from './push-rows.ts';
import { bytesOf, columnsOf, isWhole, type Row } from './row.ts';
import type { Waiting } from './waiting-rows.ts';

/** Calls under way at once. */
const PUSHES_AT_ONCE = 4;
/** The owner of rows that everybody has; no login and no group has this name. */
const EVERYBODY = '*';

/** What goes to an owner, while it is gathered. */
interface Gathered extends Owned {
  readonly objects: Map<string, Attributes>;
  readonly deletes: Set<string>;
  bytes: number;
}

/** Applies changes of a table whose rows become objects. */
export async function applyObjects(
  ports: ApplyPorts,
  plan: TablePlan,
  changes: TableChanges,
  terms: ApplyTerms,
): Promise<Applied> {
  if (changes.size === 0) return { toRead: [] };
  const application = new ObjectsApplication(ports, plan, terms);
  await (plan.owner.kind === 'shared' ? application.decideShared(changes) : application.decideOwned(changes));
  await application.push();
  return application.finish(changes);
}

/** One application of changes: decides about each row, pushes per owner, then notes where the rows are. */
class ObjectsApplication {
  readonly #ports: ApplyPorts;
  readonly #plan: TablePlan;
  readonly #columns: readonly string[];
  readonly #terms: ApplyTerms;
  readonly #owned = new Map<string, Gathered>();
  readonly #assignments = new Map<string, Assignment | null>();
  readonly #toRead: string[] = [];
  readonly #moved: string[] = [];
  readonly #problems: RowProblem[] = [];
  readonly #waits: Waiting[] = [];

  constructor(ports: ApplyPorts, plan: TablePlan, terms: ApplyTerms) {
    this.#ports = ports;
    this.#plan = plan;
    this.#columns = columnsOf({ kind: 'objects', label: plan.label, plan });
    this.#terms = terms;
  }

  async decideShared(changes: TableChanges): Promise<void> {
    const partial = [...changes].filter(([, change]) => change.kind === 'put' && !this.#isWhole(change.row));
    const wanted = partial.flatMap(([id, change]) => (change.kind === 'put' && change.isNew ? [] : [id]));
    const there = await readNamed(this.#ports.client, { source: this.#plan.source, shared: true }, wanted);
    const unknown = new Set(partial.map(([id]) => id).filter((id) => !there.has(id)));
    for (const [id, change] of changes) {
      if (!this.#isStorable(id, change)) continue;
      if (change.kind === 'delete') this.#of(EVERYBODY).deletes.add(id);
      else if (unknown.has(id) || (this.#terms.isCopy && !this.#isWhole(change.row))) this.#read(id, change, undefined);
      else this.#put(EVERYBODY, id, change.row);
    }
  }

  async decideOwned(changes: TableChanges): Promise<void> {
    const { owner, label } = this.#plan;
    const assignments = await this.#ports.assignmentsOf(label).read(changes.keys());
    const ids = parentIds(this.#plan, changes, assignments);
    const parents = owner.kind === 'through' ? await this.#ports.assignmentsOf(owner.parent).read(ids) : new Map();
    for (const [id, change] of changes) this.#decide(id, change, assignments.get(id), (parent) => parents.get(parent));
  }

  #decide(
    id: string,
    change: RowChange,
    before: Assignment | undefined,
    parentOf: (id: string) => Assignment | undefined,
  ): void {
    if (!this.#isStorable(id, change)) return;
    const whole = change.kind === 'delete' || this.#isWhole(change.row);
    const asked = this.#terms.isCopy && !whole && change.kind === 'put' ? { ...change, isNew: true } : change;
    const verdict = decideRow(this.#plan, { before, change: asked, isWhole: whole, parentOf });
    if (verdict.kind === 'read') this.#read(id, change, before);
    else {
      this.#assign(id, before, verdict);
      if (change.kind === 'put' && verdict.to !== null && !this.#put(verdict.to, id, change.row)) this.#miss(id);
    }
  }

  /** Tidemark does not have the row where it belongs. */
  #miss(id: string): void {
    const assignment = this.#assignments.get(id);
    if (assignment !== undefined && assignment !== null) this.#assignments.set(id, { ...assignment, isMissing: true });
  }

  #assign(id: string, before: Assignment | undefined, verdict: Extract<RowVerdict, { readonly kind: 'change' }>): void {
    const { from, assignment, orphanOf } = verdict;
    if (from !== null) this.#of(from).deletes.add(id);
    if (!isSameAssignment(before, assignment)) this.#assignments.set(id, assignment);
    const isMoved = before !== undefined && (assignment === null || before.owner !== assignment.owner);
    if (isMoved || (assignment !== null && this.#isAwaited(id))) this.#moved.push(id);
    if (orphanOf !== null) this.#waits.push({ kind: 'parent', table: this.#plan.label, name: orphanOf });
  }

  /** Whether children wait for this row. */
  #isAwaited(id: string): boolean {
    return this.#ports.waiting.isParentAwaited(id);
  }

  /** Pushes what was decided. Nobody should miss a row that moves, so owners who only get some come first. */
  async push(): Promise<void> {
    await this.#noteUnderWay();
    const rank = ({ objects, deletes }: Owned) => (deletes.size === 0 ? 0 : objects.size > 0 ? 1 : 2);
    for (const wanted of [0, 1, 2]) {
      const ranked = [...this.#owned.values()].filter((owned) => rank(owned) === wanted);
      await forEachAtOnce(parcelsOf(ranked), PUSHES_AT_ONCE, (parcel) => this.#pushParcel(parcel));
    }
  }

  async #pushParcel(parcel: readonly Owned[]): Promise<void> {
    const { source } = this.#plan;
    const partitions = parcel.map((owned) => ({ ...owned, whose: this.#targetOf(owned.owner).whose }));
    const isOne = parcel.length === 1;
    const alone = isOne
      ? [0]
      : await pushTogether(this.#ports.client, { source, whole: this.#terms.isCopy }, partitions);
    for (const index of alone) {
      const owned = parcel[index];
      if (owned !== undefined) await this.#pushTo(owned);
    }
  }

  async #noteUnderWay(): Promise<void> {
    const { label, source, sourceType } = this.#plan;
    if (this.#assignments.size === 0 || sourceType === 'shared') return;
    const placed = [...this.#owned.values()].flatMap(({ owner, objects }) => {
      const ids = [...objects.keys()].filter((id) => this.#assignments.has(id));
      return ids.length === 0 ? [] : [{ owner, extra: null, ids }];
    });
    await this.#ports.underWay.note({ table: label, source: { name: source, type: sourceType }, placed });
  }

  /** Notes where the rows are, once they are there. */
  async finish(changes: TableChanges): Promise<Applied> {
    const { label, owner } = this.#plan;
    const { waiting, problems } = this.#ports;
    await waiting.add(this.#waits);
    if (this.#moved.length > 0) await this.#terms.onMoved(this.#moved);
    if (owner.kind !== 'shared') await this.#ports.assignmentsOf(label).write(this.#assignments);
    const open = new Set([...this.#problems.map(({ key }) => key), ...this.#toRead]);
    const settled = [...changes.keys()].filter((id) => !open.has(id));
    await problems.settle(label, settled, this.#problems);
    return { toRead: this.#toRead };
  }

  async #pushTo(owned: Owned): Promise<void> {
    const { owner } = owned;
    const { refused, isUserMissing } = await pushRows(this.#ports.client, this.#targetOf(owner), owned);
    if (isUserMissing && owned.objects.size > 0)
      this.#waits.push({ kind: 'user', table: this.#plan.label, name: owner });
    const missing = isUserMissing ? owned.objects.keys() : refused.keys();
    for (const id of missing) this.#miss(id);
    for (const [key, refusal] of refused) this.#problems.push({ table: this.#plan.label, key, ...refusal });
  }

  #targetOf(owner: string): PushTarget {
    const { source, sourceType } = this.#plan;
    const whose = sourceType === 'user' ? { user: owner } : sourceType === 'group' ? { group: owner } : {};
    return { source, whose, whole: this.#terms.isCopy };
  }

  /** False: a value cannot be converted. */
  #put(owner: string, id: string, row: Row): boolean {
    try {
      const attributes = attributesOf(row, this.#plan.attributes, this.#ports.toJson);
      const owned = this.#of(owner);
      owned.objects.set(id, attributes);
      owned.bytes += bytesOf(row);
      return true;
    } catch (error) {
      this.#refuse(id, error instanceof Error ? error.message : String(error));
      return false;
    }
  }

  /**
   * A row of a table that is being copied comes with its copy, unless it is new under a key that the copy may have passed, or was
   * refused when the copy passed it.
   */
  #read(id: string, change: RowChange, before: Assignment | undefined): void {
    const isPassed = before !== undefined || (change.kind === 'put' && change.isNew) || this.#isRefused(id);
    if (this.#terms.isCopy || !this.#terms.isUncopied || isPassed) this.#toRead.push(id);
  }

  #isRefused(id: string): boolean {
    return this.#ports.problems.has(this.#plan.label, id);
  }

  #isStorable(id: string, { kind }: RowChange): boolean {
    const problem = nameProblem('object', id);
    if (problem !== null && kind === 'put') this.#refuse(id, `its key ${problem}`);
    return problem === null;
  }

  #refuse(key: string, reason: string): void {
    this.#problems.push({ table: this.#plan.label, key, reason });
  }

  #isWhole(row: Row): boolean {
    return isWhole(row, this.#columns);
  }

  #of(owner: string): Gathered {
    const owned = this.#owned.get(owner) ?? { owner, objects: new Map(), deletes: new Set(), bytes: 0 };
    this.#owned.set(owner, owned);
    return owned;
  }
}

function isSameAssignment(before: Assignment | undefined, after: Assignment | null): boolean {
  if (before === undefined || after === null) return before === undefined && after === null;
  return before.owner === after.owner && before.extra === after.extra && before.isMissing !== true;
}
