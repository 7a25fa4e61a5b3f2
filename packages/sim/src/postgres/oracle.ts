import type { Database } from './database.ts';
import { type MappingChoice, type OptionalTable, SOURCES, type SourceName } from './step.ts';

/** Object id → attributes. */
export type ExpectedObjects = ReadonlyMap<string, unknown>;

/** What SQL says that Tidemark must have. */
export interface Expected {
  /** Source and owner, such as `Order north_h1` → objects. The owner of what everybody has is `*`. */
  readonly partitions: ReadonlyMap<string, ExpectedObjects>;
  /** Login → groups, sorted; of users who exist. */
  readonly members: ReadonlyMap<string, readonly string[]>;
  /** Login → name; of users who are in the table. */
  readonly users: ReadonlyMap<string, string | null>;
}

interface ObjectRow {
  readonly owner: string;
  readonly id: string;
  readonly attributes: string;
}

/** How a value becomes JSON, by its type. Every other type is as `to_jsonb` has it. */
const JSON_BY_TYPE: Readonly<Record<string, (column: string, precision: number) => string>> = {
  bigint: (column) => `${column}::text`,
  numeric: (column) => `${column}::text`,
  bytea: (column) => `translate(encode(${column}, 'base64'), E'\\n', '')`,
  'timestamp with time zone': (column, precision) =>
    `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.${precision === 3 ? 'MS' : 'US'}"Z"')`,
};

const OWNED = {
  wares: { from: 'wares t', owner: `'*'`, id: 't.id::text' },
  notes: { from: 'notes t', owner: 't.owner', id: 't.id::text' },
  orders: { from: 'orders t', owner: 't.crew', id: 't.id::text' },
  lines: {
    from: 'lines t JOIN orders o ON o.id = t.order_id',
    owner: 'o.crew',
    id: `t.id || '/' || replace(replace(t.part, '~', '~0'), '/', '~1')`,
  },
} as const;
type OwnedTable = keyof typeof OWNED;
const OWNED_TABLES: readonly OwnedTable[] = ['wares', 'notes', 'orders', 'lines'];

/**
 * Says in SQL of its own what Tidemark must have, from the tables as they are. `lasting` are the users who exist whatever the
 * tables say.
 */
export class Oracle {
  readonly #database: Database;
  readonly #lasting: readonly string[];

  constructor(database: Database, lasting: readonly string[]) {
    this.#database = database;
    this.#lasting = lasting;
  }

  async expected(choice: MappingChoice): Promise<Expected> {
    const users = await this.#users();
    const exists = new Set([...this.#lasting, ...users.keys()]);
    const partitions = new Map<string, Map<string, unknown>>();
    for (const table of OWNED_TABLES) {
      if (table !== 'orders' && !choice.tables.includes(table satisfies OptionalTable)) continue;
      for (const { owner, id, attributes } of await this.#objects(table, choice)) {
        if (table === 'notes' && !exists.has(owner)) continue;
        const name = partitionName(SOURCES[table], owner);
        partitions.set(name, (partitions.get(name) ?? new Map()).set(id, JSON.parse(attributes)));
      }
    }
    const members = choice.tables.includes('members') ? await this.#members(exists) : new Map();
    return { partitions, members, users };
  }

  /** Which rows are whose now: source and owner, then object id; and login and group of members. */
  async places(): Promise<{
    readonly rows: readonly (readonly [string, string])[];
    readonly members: readonly string[];
  }> {
    const parts = (['notes', 'orders', 'lines'] as const).map((table) => {
      const { from, owner, id } = OWNED[table];
      return `SELECT '${SOURCES[table]}' AS source, ${owner} AS owner, ${id} AS id FROM ${from} WHERE ${owner} IS NOT NULL`;
    });
    const members = `SELECT 'member', login, crew FROM members WHERE login IS NOT NULL AND crew IS NOT NULL`;
    const found = await this.#database.rows<{ readonly source: string; readonly owner: string; readonly id: string }>(
      [...parts, members].join(' UNION ALL '),
    );
    return {
      rows: found.flatMap(({ source, owner, id }) =>
        source === 'member' ? [] : [[partitionName(source as SourceName, owner), id] as const],
      ),
      members: found.flatMap(({ source, owner, id }) => (source === 'member' ? [memberName(owner, id)] : [])),
    };
  }

  async #objects(table: OwnedTable, choice: MappingChoice): Promise<readonly ObjectRow[]> {
    const { from, owner, id } = OWNED[table];
    const attributes = await this.#attributes(table, choice);
    return this.#database.rows<ObjectRow>(
      `SELECT ${owner} AS owner, ${id} AS id, jsonb_build_object(${attributes})::text AS attributes FROM ${from} WHERE ${owner} <> ''`,
    );
  }

  /** The arguments of `jsonb_build_object`. Of tables with a default mapping, all columns but the key, as they are called now. */
  async #attributes(table: OwnedTable, { hasMade }: MappingChoice): Promise<string> {
    const columns = await this.#database.rows<{
      readonly name: string;
      readonly type: string;
      readonly precision: number;
    }>(
      `SELECT column_name AS name, data_type AS type, datetime_precision AS precision
       FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1`,
      [table],
    );
    const renamed: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      notes: { title: 'title', body: 'text', ...(hasMade ? { made: 'made' } : {}) },
      lines: { ware: 'ware', body: 'body' },
    };
    const names = renamed[table] ?? Object.fromEntries(columns.map(({ name }) => [name, name]));
    return columns
      .filter(({ name }) => name in names && !(name === 'id' && renamed[table] === undefined))
      .map(({ name, type, precision }) => {
        const column = `t."${name}"`;
        return `'${names[name]}', ${JSON_BY_TYPE[type]?.(column, precision) ?? `to_jsonb(${column})`}`;
      })
      .join(', ');
  }

  async #users(): Promise<ReadonlyMap<string, string | null>> {
    const rows = await this.#database.rows<{ readonly login: string; readonly name: string | null }>(
      `SELECT login, name FROM users WHERE login <> ''`,
    );
    return new Map(rows.map(({ login, name }) => [login, name]));
  }

  async #members(exists: ReadonlySet<string>): Promise<ReadonlyMap<string, readonly string[]>> {
    const rows = await this.#database.rows<{ readonly login: string; readonly crews: readonly string[] }>(
      `SELECT login, array_agg(DISTINCT crew ORDER BY crew) AS crews FROM members WHERE login <> '' AND crew <> '' GROUP BY login`,
    );
    return new Map(rows.filter(({ login }) => exists.has(login)).map(({ login, crews }) => [login, crews]));
  }
}

export function partitionName(source: SourceName, owner: string): string {
  return `${source} ${owner}`;
}

export function memberName(login: string, group: string): string {
  return `${login} in ${group}`;
}
