import { DatabaseError } from 'pg';
import type { Sql } from '../sql/open-sql.ts';

export interface SlotWatchOptions {
  readonly slot: string;
  /** What the connections of this connector are called in Postgres. */
  readonly applicationName: string;
  /** A connection of its own that says nothing for so long belongs to a process that is gone. */
  readonly silenceMsMax: number;
}

/** The connection that has a slot, which takes no second one. What the role may not see is null. */
interface Holder {
  readonly pid: number;
  readonly role: string | null;
  readonly application: string | null;
  readonly address: string | null;
  readonly isOfOwnRole: boolean;
  /** Changes with every status that the connection sends. */
  readonly saidLast: string | null;
}

/** Postgres cuts longer names of applications. */
const APPLICATION_UNITS_MAX = 63;
/** SQLSTATE of a slot that another connection uses. */
const IN_USE = '55006';

/**
 * Explains what keeps the slot of a connector. The connection of a machine that vanished stays until `wal_sender_timeout`, which may
 * be never; it is ended when it is certain that nobody is at its other end.
 */
export class SlotWatch {
  readonly #options: SlotWatchOptions;
  #seen: { readonly key: string; readonly sinceMs: number } | null = null;

  constructor(options: SlotWatchOptions) {
    this.#options = options;
  }

  /** Returns the error to be shown instead of one of Postgres. It is called at every attempt, so it notices what stays as it is. */
  async explain(sql: Sql, error: unknown, nowMs: number): Promise<unknown> {
    if (!(error instanceof DatabaseError) || error.code !== IN_USE) return error;
    const holder = await readHolder(sql, this.#options.slot);
    if (holder === null) return error;
    const silentMs = this.#silenceOf(holder, nowMs);
    const { slot, applicationName, silenceMsMax } = this.#options;
    const isOwn = holder.isOfOwnRole && holder.application === applicationName.slice(0, APPLICATION_UNITS_MAX);
    const isEnded = isOwn && silentMs >= silenceMsMax && (await endHolder(sql, slot, holder.pid));
    const what = `the replication slot "${slot}" is in use by ${described(holder)}`;
    if (isEnded) return new Error(`${what}. It said nothing for ${seconds(silentMs)} and was ended`, { cause: error });
    const way = `stop that connector, or end its connection with SELECT pg_terminate_backend(${holder.pid})`;
    const wait = isOwn ? `; it is ended when it says nothing for ${seconds(silenceMsMax)}` : '';
    return new Error(`${what}: ${way}${wait}`, { cause: error });
  }

  /** By this clock alone: a status bears the time of the machine that sent it. */
  #silenceOf({ pid, saidLast }: Holder, nowMs: number): number {
    const key = `${pid} ${saidLast}`;
    if (this.#seen?.key !== key) this.#seen = { key, sinceMs: nowMs };
    return nowMs - this.#seen.sinceMs;
  }
}

async function readHolder(sql: Sql, slot: string): Promise<Holder | null> {
  const [row] = await sql<Holder>`
    SELECT s.active_pid AS pid, a.usename::text AS role, a.application_name AS application, host(a.client_addr) AS address,
      coalesce(a.usename = current_user, false) AS "isOfOwnRole",
      coalesce(r.reply_time, a.backend_start)::text AS "saidLast"
    FROM pg_replication_slots s
    LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid
    LEFT JOIN pg_stat_replication r ON r.pid = s.active_pid
    WHERE s.slot_name = ${slot} AND s.active_pid IS NOT NULL`;
  return row ?? null;
}

/** False: the role may not, or it has ended by itself. */
async function endHolder(sql: Sql, slot: string, pid: number): Promise<boolean> {
  const [row] = await sql<{ readonly ended: boolean }>`
    SELECT pg_terminate_backend(active_pid) AS ended FROM pg_replication_slots
    WHERE slot_name = ${slot} AND active_pid = ${pid}`.catch(() => []);
  return row?.ended === true;
}

function described({ pid, role, application, address }: Holder): string {
  const who = role === null ? '' : ` of the role "${role}"`;
  const what = application === null || application === '' ? '' : `, "${application}"`;
  return `process ${pid} of Postgres${who}${what}${address === null ? '' : `, from ${address}`}`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
