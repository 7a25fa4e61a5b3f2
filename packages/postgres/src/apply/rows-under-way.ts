import { type TidemarkClient, TidemarkError } from '@tidemark/backend';
import type { Assignment, Assignments } from './assignments.ts';

/** Rows that were being put somewhere: to an owner, or in a table of members to a user and a group. */
export interface Placed {
  readonly owner: string;
  /** The group of a member. */
  readonly extra: string | null;
  readonly ids: readonly string[];
}

/** The rows of one application of changes. */
export interface UnderWay {
  readonly table: string;
  /** Where its objects are; null: it has none. */
  readonly source: { readonly name: string; readonly type: 'user' | 'group' } | null;
  readonly placed: readonly Placed[];
}

/** What settling needs. */
export interface SettlePorts {
  readonly assignmentsOf: (label: string) => Pick<Assignments, 'read' | 'write'>;
  /** Takes a user out of a group, unless a row says otherwise. */
  readonly leave: (user: string, group: string) => Promise<void>;
}

/**
 * Where rows are being put whose assignments do not say so yet. It is stored before they are pushed: after a kill the stream usually
 * repeats them, but not when the slot is lost, or their table is out of the mapping, and then nobody else would know of them.
 */
export class RowsUnderWay {
  readonly #client: TidemarkClient;
  readonly #document: string;
  /** Null: not known yet. */
  #isEmpty: boolean | null = null;

  constructor(client: TidemarkClient, name: string) {
    this.#client = client;
    this.#document = `postgres-under-way.${name}`;
  }

  /** What was noted before is over. */
  async note(underWay: UnderWay): Promise<void> {
    const isEmpty = underWay.placed.length === 0;
    if (isEmpty && this.#isEmpty === true) return;
    await this.#client.documents.write('server', this.#document, JSON.stringify(underWay));
    this.#isEmpty = isEmpty;
  }

  /** Gives the rows that an earlier run has left assignments, so that whatever becomes of them is done where they are, too. */
  async settle({ assignmentsOf, leave }: SettlePorts): Promise<void> {
    const underWay = await this.#read();
    if (underWay === null) return;
    const { table, source, placed } = underWay;
    const known = await assignmentsOf(table).read(placed.flatMap(({ ids }) => ids));
    const added = new Map<string, Assignment>();
    for (const { owner, extra, ids } of placed) {
      for (const id of ids) if (!known.has(id)) added.set(id, { owner, extra, isMissing: true });
      const others = ids.filter((id) => isElsewhere(known.get(id), owner, source === null ? extra : undefined));
      if (others.length === 0) continue;
      if (source !== null) await this.#delete(source.name, { [source.type]: owner }, others);
      else if (extra !== null) await leave(owner, extra);
    }
    await assignmentsOf(table).write(added);
  }

  /** Null: there is nothing. */
  async #read(): Promise<UnderWay | null> {
    const text = await this.#client.documents.read('server', this.#document).catch(unlessGone);
    return text === null ? null : (JSON.parse(String(text)) as UnderWay);
  }

  async #delete(source: string, whose: object, ids: readonly string[]): Promise<void> {
    await this.#client.push.deletes(source, ids, whose).catch(unlessGone);
  }
}

function isElsewhere(known: Assignment | undefined, owner: string, group: string | null | undefined): boolean {
  if (known === undefined) return false;
  return known.owner !== owner || (group !== undefined && known.extra !== group);
}

/** A source or a user who is gone has nothing. */
function unlessGone(error: unknown): null {
  if (error instanceof TidemarkError && error.status === 404) return null;
  throw error;
}
