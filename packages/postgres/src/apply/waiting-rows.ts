import type { TidemarkClient } from '@tidemark/backend';
import { hiddenId, readPage } from './hidden-source.ts';

/** Rows of a table that wait until a user exists, or until their parent has an owner. */
export interface Waiting {
  readonly kind: 'user' | 'parent';
  readonly table: string;
  /** The login, or the object id of the parent. */
  readonly name: string;
}

const GROUP = 'waiting';
/** Kept in memory; about 200 bytes each. */
const WAITING_MAX = 100_000;

/**
 * What rows wait for. It is kept in Tidemark, one small object for each table and user or parent, and in memory up to a bound. Beyond
 * it nothing is lost: what is not in memory may be waited for, so more is read from the tables than would have to be.
 */
export class WaitingRows {
  readonly #client: TidemarkClient;
  readonly #partition: { readonly source: string; readonly group: string };
  readonly #max: number;
  readonly #waiting = new Map<string, Waiting>();
  /** Id of a parent → how many tables wait for it. */
  readonly #parents = new Map<string, number>();
  #isComplete = true;
  /** Where the next look at users goes on: in memory, or else in what is stored. */
  #next = 0;

  constructor(client: TidemarkClient, source: string, max = WAITING_MAX) {
    this.#client = client;
    this.#partition = { source, group: GROUP };
    this.#max = max;
  }

  /** False: rows wait for more than is in memory. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  async load(): Promise<void> {
    this.#isComplete = true;
    for (let after: number | null = 0; after !== null && this.#isComplete; ) {
      const page: Awaited<ReturnType<typeof readPage>> = await readPage(this.#client, this.#partition, after);
      for (const { attributes } of page.objects) this.#remember(attributes as unknown as Waiting);
      after = page.next;
    }
  }

  /** Whether rows of some table may wait for a parent of this id. */
  isParentAwaited(name: string): boolean {
    return this.#parents.has(name) || !this.#isComplete;
  }

  /** The tables whose rows wait for one of these users, as far as it is in memory. */
  forUsers(logins: ReadonlySet<string>): readonly Waiting[] {
    return [...this.#waiting.values()].filter(({ kind, name }) => kind === 'user' && logins.has(name));
  }

  /** Users whom rows wait for, others at each call until all have been returned. */
  async someUsers(count: number): Promise<ReadonlySet<string>> {
    if (!this.#isComplete && this.#waiting.size <= this.#max / 2) await this.load();
    return new Set((await this.#some(count)).flatMap(({ kind, name }) => (kind === 'user' ? [name] : [])));
  }

  async add(waiting: readonly Waiting[]): Promise<void> {
    const added = new Map(waiting.flatMap((one) => (this.#waiting.has(idOf(one)) ? [] : [[idOf(one), one] as const])));
    if (added.size === 0) return;
    const objects = new Map([...added].map(([id, { kind, table, name }]) => [id, { kind, table, name }] as const));
    const { source, group } = this.#partition;
    await this.#client.push.objects(source, objects, { group });
    for (const one of added.values()) this.#remember(one);
  }

  async remove(waiting: readonly Waiting[]): Promise<void> {
    const ids = waiting.map(idOf).filter((id) => this.#waiting.has(id) || !this.#isComplete);
    if (ids.length === 0) return;
    const { source, group } = this.#partition;
    await this.#client.push.deletes(source, ids, { group });
    for (const id of ids) this.#forget(id);
  }

  async #some(count: number): Promise<readonly Waiting[]> {
    if (this.#isComplete) {
      const users = [...this.#waiting.values()].filter(({ kind }) => kind === 'user');
      const start = users.length === 0 ? 0 : this.#next % users.length;
      this.#next = start + count;
      return users.slice(start, start + count);
    }
    const { objects, next } = await readPage(this.#client, this.#partition, this.#next, count);
    this.#next = next ?? 0;
    return objects.map(({ attributes }) => attributes as unknown as Waiting);
  }

  #remember(one: Waiting): void {
    const id = idOf(one);
    if (this.#waiting.has(id)) return;
    if (this.#waiting.size >= this.#max) {
      if (this.#isComplete) this.#next = 0;
      this.#isComplete = false;
      return;
    }
    this.#waiting.set(id, one);
    if (one.kind === 'parent') this.#parents.set(one.name, (this.#parents.get(one.name) ?? 0) + 1);
  }

  #forget(id: string): void {
    const one = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (one?.kind !== 'parent') return;
    const tables = (this.#parents.get(one.name) ?? 0) - 1;
    if (tables > 0) this.#parents.set(one.name, tables);
    else this.#parents.delete(one.name);
  }
}

function idOf({ kind, table, name }: Waiting): string {
  return hiddenId(`${kind}:${table}:${name}`);
}
