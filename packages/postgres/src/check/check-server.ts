import type { Sql } from '../sql/open-sql.ts';
import type { DatabaseAddress } from '../sql/parse-url.ts';
import { quoteIdentifier } from '../sql/quote.ts';
import type { Finding } from './finding.ts';

/** Logical decoding messages, which the copy and the heartbeat need, are sent since Postgres 14. */
const VERSION_MIN = 140_000;
const POOLER_PROBES = 5;

interface Facts {
  readonly version: number;
  readonly wal_level: string;
  readonly slots_max: number;
  readonly slots: number;
  readonly senders_max: number;
  readonly senders: number;
  readonly keep_mb: number;
  readonly encoding: string;
  readonly in_recovery: boolean;
  readonly login: string;
  readonly is_superuser: boolean;
  readonly may_replicate: boolean;
  /** Whether there is the role whose members may replicate on Amazon RDS; nobody has the attribute there. */
  readonly has_rds_role: boolean;
  readonly has_slot: boolean;
}

/** Checks the server and the login: settings, what is left of slots and senders, rights, and what is in between. */
export async function checkServer(sql: Sql, address: DatabaseAddress, slot: string): Promise<readonly Finding[]> {
  const [facts] = await sql<Facts>`
    SELECT current_setting('server_version_num')::int AS version, current_setting('wal_level') AS wal_level,
      current_setting('max_replication_slots')::int AS slots_max, (SELECT count(*)::int FROM pg_replication_slots) AS slots,
      current_setting('max_wal_senders')::int AS senders_max, (SELECT count(*)::int FROM pg_stat_replication) AS senders,
      (SELECT setting::int FROM pg_settings WHERE name = 'max_slot_wal_keep_size') AS keep_mb,
      current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS in_recovery, current_user AS login,
      rolsuper AS is_superuser, rolreplication OR rolsuper OR COALESCE(pg_has_role(rds.oid, 'MEMBER'), false) AS may_replicate,
      rds.oid IS NOT NULL AS has_rds_role,
      EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = ${slot}) AS has_slot
    FROM pg_roles LEFT JOIN (SELECT oid FROM pg_roles WHERE rolname = 'rds_replication') AS rds ON true
    WHERE rolname = current_user`;
  if (facts === undefined) throw new Error('the server does not say who is logged in');
  return [
    ...settingFindings(facts),
    ...capacityFindings(facts),
    ...loginFindings(facts),
    ...tlsFindings(address),
    ...(await poolerFindings(sql)),
  ];
}

function settingFindings({ version, wal_level, encoding, in_recovery, keep_mb }: Facts): readonly Finding[] {
  const found: Finding[] = [];
  if (version < VERSION_MIN) found.push(error('version', 'the server is older than Postgres 14: upgrade it'));
  if (in_recovery) found.push(error('standby', 'this server is a standby: connect the primary one'));
  if (wal_level !== 'logical') {
    const message = `wal_level is "${wal_level}", so the server does not write down changes for others: set it, and restart the server`;
    found.push(error('wal_level', message, `ALTER SYSTEM SET wal_level = 'logical'`));
  }
  if (encoding !== 'UTF8') {
    const message = `the encoding of the database is ${encoding}: texts that are not valid in it arrive damaged. Use UTF8`;
    found.push({ code: 'encoding', level: encoding === 'SQL_ASCII' ? 'error' : 'notice', message, sql: [] });
  }
  if (keep_mb === -1) {
    const message =
      'max_slot_wal_keep_size has no limit: while the connector is stopped, the log grows until the disk is full';
    found.push({
      code: 'wal_keep_size',
      level: 'notice',
      message,
      sql: [`ALTER SYSTEM SET max_slot_wal_keep_size = '10GB'`, RELOAD],
    });
  }
  return found;
}

function capacityFindings({ slots, slots_max, senders, senders_max, has_slot }: Facts): readonly Finding[] {
  const found: Finding[] = [];
  if (!has_slot && slots >= slots_max) {
    const message = `all ${slots_max} replication slots are taken: drop one that nobody uses, or allow more and restart the server`;
    found.push(error('replication_slots', message, `ALTER SYSTEM SET max_replication_slots = ${slots_max + 5}`));
  }
  if (senders >= senders_max) {
    const message = `all ${senders_max} connections for replication are taken: allow more and restart the server`;
    found.push(error('wal_senders', message, `ALTER SYSTEM SET max_wal_senders = ${senders_max + 5}`));
  }
  return found;
}

function loginFindings({ login, is_superuser, may_replicate, has_rds_role }: Facts): readonly Finding[] {
  if (!may_replicate) {
    const message = `the role "${login}" may not replicate`;
    const role = quoteIdentifier(login);
    const grant = has_rds_role ? `GRANT rds_replication TO ${role}` : `ALTER ROLE ${role} REPLICATION`;
    return [error('replication_role', message, grant)];
  }
  if (!is_superuser) return [];
  const message = `the role "${login}" is a superuser: the connector needs only REPLICATION and SELECT, so give it a role of its own`;
  const create = `CREATE ROLE tidemark LOGIN REPLICATION PASSWORD 'choose one'`;
  return [{ code: 'superuser', level: 'warning', message, sql: [create] }];
}

function tlsFindings({ tls, host }: DatabaseAddress): readonly Finding[] {
  if (tls !== 'encrypt') return [];
  const message = `sslmode=require encrypts, and does not make sure that "${host}" is who answers: use sslmode=verify-full`;
  return [{ code: 'certificate', level: 'warning', message, sql: [] }];
}

/** A pooler that shares connections between clients gives another one to each transaction, and passes no replication. */
async function poolerFindings(sql: Sql): Promise<readonly Finding[]> {
  const pids = new Set<number>();
  // One after the other: a statement has the connection that was free last, so all of them have the same one.
  for (let probe = 0; probe < POOLER_PROBES; probe++) {
    const [row] = await sql`SELECT pg_backend_pid() AS pid`;
    pids.add(Number(row?.pid));
  }
  if (pids.size === 1) return [];
  return [POOLER];
}

const RELOAD = 'SELECT pg_reload_conf()';

function error(code: string, message: string, ...sql: readonly string[]): Finding {
  return { code, level: 'error', message, sql };
}

export const POOLER: Finding = error(
  'pooler',
  'a pooler is between the connector and the server: use the address of the server itself',
);
