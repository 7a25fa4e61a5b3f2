import { createHash } from 'node:crypto';
import type { TidemarkClient } from '@tidemark/backend';
import { utf8Bytes } from '@tidemark/protocol';
import { readPage } from './hidden-source.ts';

/** Rows of a table that wait until a user exists, or until their parent has an owner. */
export interface Waiting {
  readonly kind: 'user' | 'parent';
  readonly table: string;
  /** The login, or the object id of the parent. */
  readonly name: string;
}

const GROUP = 'waiting';
const ID_BYTES_MAX = 512;

/** What rows wait for. It is kept in Tidemark, one small object for each table and user or parent. */
export class WaitingRows {
  readonly #client: TidemarkClient;
  readonly #source: string;
  readonly #waiting = new Map<string, Waiting>();
  #parents: ReadonlySet<string> = new Set();

  constructor(client: TidemarkClient, source: string) {
    this.#client = client;
    this.#source = source;
  }

  get all(): readonly Waiting[] {
    return [...this.#waiting.values()];
  }

  async load(): Promise<void> {
    for (let after: number | null = 0; after !== null; ) {
      const partition = { source: this.#source, group: GROUP };
      const page: Awaited<ReturnType<typeof readPage>> = await readPage(this.#client, partition, after);
      for (const { id, attributes } of page.objects) this.#waiting.set(id, attributes as unknown as Waiting);
      after = page.next;
    }
    this.#findParents();
  }

  /** Whether rows of some table wait for a parent of this id. */
  isParentAwaited(name: string): boolean {
    return this.#parents.has(name);
  }

  has(waiting: Waiting): boolean {
    return this.#waiting.has(idOf(waiting));
  }

  async add(waiting: readonly Waiting[]): Promise<void> {
    const added = new Map(waiting.filter((one) => !this.has(one)).map((one) => [idOf(one), one] as const));
    if (added.size === 0) return;
    const objects = new Map([...added].map(([id, { kind, table, name }]) => [id, { kind, table, name }] as const));
    await this.#client.push.objects(this.#source, objects, { group: GROUP });
    for (const [id, one] of added) this.#waiting.set(id, one);
    this.#findParents();
  }

  async remove(waiting: readonly Waiting[]): Promise<void> {
    const ids = waiting.filter((one) => this.has(one)).map(idOf);
    if (ids.length === 0) return;
    await this.#client.push.deletes(this.#source, ids, { group: GROUP });
    for (const id of ids) this.#waiting.delete(id);
    this.#findParents();
  }

  #findParents(): void {
    this.#parents = new Set(this.all.filter(({ kind }) => kind === 'parent').map(({ name }) => name));
  }
}

function idOf({ kind, table, name }: Waiting): string {
  const id = `${kind}:${table}:${name}`;
  return utf8Bytes(id) <= ID_BYTES_MAX ? id : createHash('sha256').update(id).digest('hex');
}
