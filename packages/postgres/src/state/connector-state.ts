import { type TidemarkClient, TidemarkError } from '@tidemark/backend';

/** Where the work on a table stands. */
export type TablePhase =
  /** It is to be copied. `verifies`: afterwards the rows that Tidemark has are looked up, because some may be gone. */
  | { readonly name: 'waiting'; readonly verifies: boolean }
  /** `last` is the key up to which it is copied; null: nothing is. */
  | {
      readonly name: 'copying';
      readonly last: readonly string[] | null;
      readonly rows: number;
      readonly verifies: boolean;
    }
  /** What Tidemark has is looked up in the table, in the order of its last change. */
  | { readonly name: 'verifying'; readonly after: number }
  | { readonly name: 'ready' }
  /** It is no longer in the mapping; what Tidemark has of it is deleted. */
  | { readonly name: 'removing' };

/** Which table it is, as far as the stream does not say it. All numbers are those of the catalogue. */
export interface TableOrigin {
  /**
   * The table, its file and its entries in the publication: another one when one of them was made anew, or the publication was changed.
   * A table has another file after ALTER TABLE has rewritten it, which the log says nothing of, and after TRUNCATE and VACUUM FULL.
   */
  readonly table: string;
  readonly publication: string;
  /** Partition → its file, which TRUNCATE replaces; the stream says nothing of either. */
  readonly partitions: Readonly<Record<string, string>>;
  /** Values of its enums → what they are called. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface TableState {
  readonly kind: 'objects' | 'members' | 'users';
  /** The source of its objects; null: it has none. */
  readonly source: string | null;
  readonly sourceType: 'shared' | 'user' | 'group' | null;
  /** The columns that make the object ids. When they change, objects have other ids. */
  readonly key: string;
  /** Changes when rows have to be copied again. */
  readonly signature: string;
  readonly phase: TablePhase;
  /** Absent: it was not looked up since the table is new. */
  readonly origin?: TableOrigin;
}

/** Rows that are to be read, although the stream does not ask for them again after a restart. */
export interface PendingRead {
  readonly table: string;
  /** `children`: the rows of these parents, which have moved; `owner`: the rows of these users, who were created again. */
  readonly kind: 'children' | 'owner';
  readonly names: readonly string[];
}

/** Where a connector stands. Everything up to `position` is durable in Tidemark. */
export interface ConnectorState {
  readonly version: 1;
  readonly systemId: string;
  readonly timeline: number;
  readonly slot: string;
  /** As Postgres writes it: `16/B374D848`. */
  readonly position: string;
  readonly tables: Readonly<Record<string, TableState>>;
  /** Transactions up to `position` that a snapshot may not see yet. */
  readonly recentXids: readonly number[];
  /** Absent: nothing is to be read. */
  readonly pending?: readonly PendingRead[];
}

/** Keeps the state of one connector as a document of Tidemark, beside the data that it describes. */
export class StateStore {
  readonly #client: TidemarkClient;
  readonly #document: string;

  constructor(client: TidemarkClient, name: string) {
    this.#client = client;
    this.#document = stateDocument(name);
  }

  /** Null: the connector has never run. */
  async read(): Promise<ConnectorState | null> {
    const text = await this.#client.documents.read('server', this.#document).catch((error: unknown) => {
      if (error instanceof TidemarkError && error.status === 404) return null;
      throw error;
    });
    if (text === null) return null;
    const state = JSON.parse(String(text)) as ConnectorState;
    if (state.version === 1) return state;
    throw new Error(`the state of the connector is of version ${String(state.version)}; a newer Tidemark wrote it`);
  }

  async write(state: ConnectorState): Promise<void> {
    await this.#client.documents.write('server', this.#document, JSON.stringify(state));
  }
}

export function stateDocument(name: string): string {
  return `postgres.${name}`;
}
