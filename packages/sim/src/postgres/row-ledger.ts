import type { Oracle } from './oracle.ts';

/** Whose each row ever was, and who was ever in which group, after every transaction of a history. */
export class RowLedger {
  readonly #oracle: Oracle;
  readonly #rows = new Map<string, Set<string>>();
  readonly #members = new Set<string>();

  constructor(oracle: Oracle) {
    this.#oracle = oracle;
  }

  async note(): Promise<void> {
    const { rows, members } = await this.#oracle.places();
    for (const [partition, id] of rows) this.#rows.set(partition, (this.#rows.get(partition) ?? new Set()).add(id));
    for (const member of members) this.#members.add(member);
  }

  wasIn(partition: string, id: string): boolean {
    return this.#rows.get(partition)?.has(id) ?? false;
  }

  wasMember(member: string): boolean {
    return this.#members.has(member);
  }
}
