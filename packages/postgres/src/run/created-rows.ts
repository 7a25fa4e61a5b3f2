import { TidemarkError } from '@tidemark/backend';
import type { ApplyPorts } from '../apply/apply-ports.ts';
import { type Partition, readNamed } from '../apply/hidden-source.ts';
import type { TablePlan } from '../mapping/plan.ts';
import type { Lsn } from '../replication/message.ts';
import type { CreatedMessage } from '../writing/operations.ts';

/** A row that a device has created, and that Tidemark may not know by its id yet. */
export interface CreatedRow extends CreatedMessage {
  /** The stored position when it arrived. Until it is settled, no later one is stored, so that it arrives again after a restart. */
  readonly heldAt: Lsn;
}

export interface CreatedRowsParts {
  /** The name of the connector; rows of others are none of its business. */
  readonly connector: string;
  readonly ports: Pick<ApplyPorts, 'client' | 'assignmentsOf'>;
  /** Null: the table is not in the mapping any more. */
  readonly planOf: (label: string) => TablePlan | null;
  /** Of these operations, those whose answer Tidemark may still have to write down. */
  readonly recentOperations: (opIds: readonly string[]) => Promise<ReadonlySet<string>>;
}

interface WaitingRow extends CreatedRow {
  /** Whether its changes are left out until it is read. */
  readonly isHeld: boolean;
}

/**
 * Rows that devices have created. When the database chooses the key, Tidemark puts the object under it in the commit that tells the
 * device; a push before that would show the device its object twice. So such a row is held back until Tidemark has it, or until no
 * answer can be under way any more. Then it is read from the table, because what Tidemark put are the values of the device.
 *
 * After a repeated call the object may be there already, so that nothing tells when the answer has been written: the row is not held
 * back, and read when no answer can be under way any more.
 */
export class CreatedRows {
  readonly #parts: CreatedRowsParts;
  readonly #rows = new Map<string, WaitingRow>();

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
    return this.#rows.get(nameOf(label, id))?.isHeld === true;
  }

  /** Returns whether the row is held back from now on. */
  async add(row: CreatedRow): Promise<boolean> {
    const plan = this.#parts.planOf(row.table);
    if (plan === null || row.connector !== this.#parts.connector) return false;
    const name = nameOf(row.table, row.id);
    const before = this.#rows.get(name);
    const heldAt = before !== undefined && before.heldAt < row.heldAt ? before.heldAt : row.heldAt;
    const isRepeated = row.isRepeated || before?.isRepeated === true;
    const isHeld = !row.isRepeated || before?.isHeld === true;
    this.#rows.set(name, { ...row, heldAt, isRepeated, isHeld });
    // Should the row be gone or somebody else's when it is read, it must leave where Tidemark has put it.
    if (row.owner !== null) await this.#assign(row.table, row.id, row.owner);
    return isHeld;
  }

  /** Returns the rows that can be read now, and forgets those about which no answer comes any more. */
  async take(): Promise<readonly CreatedRow[]> {
    if (this.isEmpty) return [];
    const rows = [...this.#rows];
    const recent = await this.#parts.recentOperations(rows.map(([, { opId }]) => opId));
    const taken: CreatedRow[] = [];
    for (const [name, row] of rows) {
      const isRecent = recent.has(row.opId);
      if (isRecent && !(row.isHeld && (await this.#isThere(row)))) continue;
      if (isRecent && row.isRepeated) this.#rows.set(name, { ...row, isHeld: false });
      else {
        this.#rows.delete(name);
        await this.#remove(row);
      }
      taken.push(row);
    }
    return taken;
  }

  async #isThere(row: CreatedRow): Promise<boolean> {
    const partition = this.#partitionOf(row);
    if (partition === null) return true;
    try {
      return (await readNamed(this.#parts.ports.client, partition, [row.id])).size > 0;
    } catch (error) {
      // The user was deleted meanwhile.
      if (error instanceof TidemarkError && error.status === 404) return false;
      throw error;
    }
  }

  /** Removes what a late answer has put where the row is not any more. Where it is says the stream. */
  async #remove(row: CreatedRow): Promise<void> {
    const { table, id, owner } = row;
    const partition = this.#partitionOf(row);
    // Of what everybody has, reading the row is enough.
    if (partition === null || 'shared' in partition) return;
    const assignment = (await this.#parts.ports.assignmentsOf(table).read([id])).get(id);
    if (assignment?.owner === owner) return;
    const { source, ...whose } = partition;
    try {
      await this.#parts.ports.client.push.deletes(source, [id], whose);
    } catch (error) {
      if (!(error instanceof TidemarkError) || error.status !== 404) throw error;
    }
  }

  /** Where Tidemark puts the object; null: the table is not in the mapping any more. */
  #partitionOf({ table, owner }: CreatedRow): Partition | null {
    const plan = this.#parts.planOf(table);
    if (plan === null) return null;
    const { source, sourceType } = plan;
    if (owner === null) return { source, shared: true };
    return sourceType === 'user' ? { source, user: owner } : { source, group: owner };
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
