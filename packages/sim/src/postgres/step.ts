import type { History } from '../runner/simulation.ts';

/** The tables of a history, in the order in which the mapping names them. */
export const TABLES = ['wares', 'notes', 'orders', 'lines', 'members', 'users'] as const;
export type TableName = (typeof TABLES)[number];
/** Tables that the mapping may leave out for a while. Orders are the parents of lines, and users have devices. */
export const OPTIONAL_TABLES = ['wares', 'notes', 'lines', 'members'] as const;
export type OptionalTable = (typeof OPTIONAL_TABLES)[number];

/** Which source the rows of a table become. */
export const SOURCES = { wares: 'Ware', notes: 'Note', orders: 'Order', lines: 'Line' } as const;
export type SourceName = (typeof SOURCES)[keyof typeof SOURCES];

/** Users who exist before the connector, and have a device each. */
export const DEVICE_USERS = ['ann', 'bob'] as const;
/** Users who exist while the table of users has them. */
const TABLE_USERS = ['eve', 'max'] as const;
export const USERS = [...DEVICE_USERS, ...TABLE_USERS] as const;
export const GROUPS = ['north', 'south', 'east'] as const;

/** What can be killed with SIGKILL. */
export type Process = 'connector' | 'tidemark' | 'postgres';

/** Statements of one connection. `@name` stands for the name of a user or a group in this history. */
export interface Transaction {
  readonly statements: readonly string[];
  readonly isRolledBack: boolean;
}

export interface MappingChoice {
  readonly tables: readonly OptionalTable[];
  /** Whether devices get the column `made` of notes. */
  readonly hasMade: boolean;
}

export type Step =
  /** Transactions side by side; `turns` says whose statement is next. */
  | { readonly kind: 'transactions'; readonly transactions: readonly Transaction[]; readonly turns: readonly number[] }
  /** The connector catches up with the log. */
  | { readonly kind: 'catch_up' }
  | { readonly kind: 'pull'; readonly device: number }
  /** At a later call of the connector to Tidemark a process is killed, before the call arrives or after it was answered. */
  | { readonly kind: 'kill'; readonly process: Process; readonly calls: number; readonly isAnswered: boolean }
  /** Some calls of the connector fail: they do not arrive, or their answers get lost. */
  | { readonly kind: 'cut_calls'; readonly after: number; readonly count: number; readonly isAnswered: boolean }
  /** The same with calls that push rows. */
  | { readonly kind: 'cut_pushes'; readonly after: number; readonly count: number; readonly isAnswered: boolean }
  /** The replication connection is cut after so many bytes more, wherever that is. */
  | { readonly kind: 'cut_stream'; readonly bytes: number }
  /** After some chunks, what the connector does at the next one waits until the transactions of the next step have ended. */
  | { readonly kind: 'hold_chunk'; readonly at: 'read' | 'mark'; readonly chunks: number }
  | { readonly kind: 'restart'; readonly isKilled: boolean }
  | { readonly kind: 'remap'; readonly mapping: MappingChoice }
  | { readonly kind: 'alter'; readonly statement: string }
  | { readonly kind: 'drop_slot' }
  /** A standby takes over; it has everything, or lacks what came after it was cut off. */
  | { readonly kind: 'fail_over'; readonly lags: boolean };

export interface PostgresHistory extends History<Step> {
  /** Rows that the connector finds: so many that they are copied in several chunks, or few. */
  readonly wares: number;
  readonly batchRowsMax: number;
  readonly mapping: MappingChoice;
}
