import type { ApplyPorts } from '../apply/apply-ports.ts';
import { readNamed } from '../apply/hidden-source.ts';
import type { TablePlan } from '../mapping/plan.ts';
import type { Lsn } from '../replication/message.ts';
import type { CreatedMessage } from '../writing/operations.ts';

/** A row that a device has created, and that Tidemark may not know by its id yet. */
export interface CreatedRow extends CreatedMessage {
  /** The stored position when it arrived. Until it is settled, no later one is stored, so that it arrives again after a restart. */
  readonly heldAt: Lsn;
}

export interface CreatedRowsParts {
  readonly ports: Pick<ApplyPorts, 'client' | 'assignmentsOf'>;
  /** Null: the table is not in the mapping any more. */
  readonly planOf: (label: string) => TablePlan | null;
  /** Of these operations, those whose answer Tidemark may still have to write down. */
  readonly recentOperations: (opIds: readonly string[]) => Promise<ReadonlySet<string>>;
}

/**
 * Rows that devices have created. When the database chooses the key, Tidemark puts the object under it in the commit that tells the
 * device; a push before that would show the device its object twice. So such a row is held back until Tidemark has it, or until no
 * answer can be under way any more. Then it is read from the table, because what Tidemark put are the values of the device.
 */
export class CreatedRows {
  readonly #parts: CreatedRowsParts;
  readonly #rows = new Map<string, CreatedRow>();

  constructor(parts: CreatedRowsParts) {
    this.#parts = parts;
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0;
  }

  /** No later position than this may be stored; null: any. */
  get heldAt(): Lsn | null {
    let least: Lsn | null = null;
    for (const { heldAt } of this.#rows.values()) if (least === null || heldAt < least) least = heldAt;
    return least;
  }

  isHeld(label: string, id: string): boolean {
    return this.#rows.get(nameOf(label, id))?.isRepeated === false;
  }

  /** Returns whether the row is held back from now on. */
  async add(row: CreatedRow): Promise<boolean> {
    const plan = this.#parts.planOf(row.table);
    if (plan === null) return false;
    this.#rows.set(nameOf(row.table, row.id), row);
    // Should the row be gone or somebody else's when it is read, it must leave where Tidemark has put it.
    if (row.owner !== null) await this.#assign(row.table, row.id, row.owner);
    return !row.isRepeated;
  }

  /** Returns the rows that can be read now, and forgets them. */
  async take(): Promise<readonly CreatedRow[]> {
    if (this.isEmpty) return [];
    const rows = [...this.#rows.values()];
    const recent = await this.#parts.recentOperations(rows.map(({ opId }) => opId));
    const taken: CreatedRow[] = [];
    for (const row of rows) {
      if (recent.has(row.opId) && (row.isRepeated || !(await this.#isThere(row)))) continue;
      this.#rows.delete(nameOf(row.table, row.id));
      taken.push(row);
    }
    return taken;
  }

  async #isThere({ table, id, owner }: CreatedRow): Promise<boolean> {
    const plan = this.#parts.planOf(table);
    if (plan === null) return true;
    const { source, sourceType } = plan;
    const partition =
      owner === null
        ? ({ source, shared: true } as const)
        : sourceType === 'user'
          ? { source, user: owner }
          : { source, group: owner };
    return (await readNamed(this.#parts.ports.client, partition, [id])).size > 0;
  }

  async #assign(label: string, id: string, owner: string): Promise<void> {
    const assignments = this.#parts.ports.assignmentsOf(label);
    if ((await assignments.read([id])).has(id)) return;
    await assignments.write(new Map([[id, { owner, extra: null, isMissing: true }]]));
  }
}

function nameOf(label: string, id: string): string {
  return JSON.stringify([label, id]);
}
