import type { Sql } from '../sql/open-sql.ts';
import { quoteIdentifier } from '../sql/quote.ts';
import { parseLsn } from './lsn.ts';
import type { Lsn } from './message.ts';

const FAILOVER_VERSION = 170_000;

export interface Slot {
  readonly name: string;
  readonly plugin: string;
  readonly database: string;
  /** False: it sends the changes of another database of the server. */
  readonly isOfThisDatabase: boolean;
  readonly isActive: boolean;
  /** From here on the server keeps its log for the slot; null: it keeps nothing any more. */
  readonly restartLsn: Lsn | null;
  /** What was acknowledged last. */
  readonly confirmedLsn: Lsn | null;
  /** `lost`: the server has removed log that the slot needs, so it can never be used again. */
  readonly walStatus: 'reserved' | 'extended' | 'unreserved' | 'lost' | null;
  /** How many bytes the server keeps for the slot. */
  readonly retainedBytes: number | null;
  /** How many bytes may be written before the slot is in danger; null: any number. */
  readonly safeBytes: number | null;
  /** Why the server does not let it be used any more; Postgres 17 and newer say so. */
  readonly invalidationReason: string | null;
  /** Whether standbys have it too; Postgres 17 and newer. */
  readonly isFailover: boolean;
}

interface SlotRow {
  readonly slot_name: string;
  readonly plugin: string;
  readonly database: string;
  readonly is_here: boolean;
  readonly active: boolean;
  readonly restart_lsn: string | null;
  readonly confirmed_flush_lsn: string | null;
  readonly wal_status: Slot['walStatus'];
  readonly safe_wal_size: string | null;
  readonly retained: string | null;
  readonly invalidation_reason: string | null;
  readonly failover: string | null;
}

export async function readSlot(sql: Sql, name: string): Promise<Slot | null> {
  // Columns of newer versions are looked up by name in JSON, where they are null in older ones.
  const [row] = await sql<SlotRow>`
    SELECT s.slot_name, s.plugin, s.database, s.database = current_database() AS is_here, s.active, s.restart_lsn, s.confirmed_flush_lsn, s.wal_status, s.safe_wal_size,
      pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, s.restart_lsn) AS retained,
      to_jsonb(s) ->> 'invalidation_reason' AS invalidation_reason, to_jsonb(s) ->> 'failover' AS failover
    FROM pg_replication_slots s WHERE s.slot_name = ${name}`;
  if (row === undefined) return null;
  const lsn = (text: string | null) => (text === null ? null : parseLsn(text));
  const bytes = (text: string | null) => (text === null ? null : Number(text));
  return {
    name: row.slot_name,
    plugin: row.plugin,
    database: row.database,
    isOfThisDatabase: row.is_here,
    isActive: row.active,
    restartLsn: lsn(row.restart_lsn),
    confirmedLsn: lsn(row.confirmed_flush_lsn),
    walStatus: row.wal_status,
    retainedBytes: bytes(row.retained),
    safeBytes: bytes(row.safe_wal_size),
    invalidationReason: row.invalidation_reason,
    isFailover: row.failover === 'true',
  };
}

/**
 * Makes a slot, which waits for the transactions that are running. From Postgres 17 on it is one that standbys have too, so that
 * it survives a failover. Returns the position from which on it sends changes.
 */
export async function createSlot(sql: Sql, name: string): Promise<Lsn> {
  const [version] = await sql`SELECT current_setting('server_version_num')::int AS number`;
  const hasFailover = Number(version?.number) >= FAILOVER_VERSION;
  const [row] = hasFailover
    ? await sql`SELECT lsn FROM pg_create_logical_replication_slot(${name}, 'pgoutput', false, false, true)`
    : await sql`SELECT lsn FROM pg_create_logical_replication_slot(${name}, 'pgoutput')`;
  return parseLsn(String(row?.lsn));
}

/** Returns false when there is none. */
export async function dropSlot(sql: Sql, name: string): Promise<boolean> {
  const dropped =
    await sql`SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = ${name}`;
  return dropped.length > 0;
}

/** The statement that makes a publication; whoever owns the tables runs it. */
export function createPublicationSql(name: string, tables: readonly string[]): string {
  return `CREATE PUBLICATION ${quoteIdentifier(name)} FOR TABLE ${tables.join(', ')}`;
}
