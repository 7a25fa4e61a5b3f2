import type { ConnectorFault, ConnectorReport, ConnectorSlot, ConnectorTable } from '@tidemark/protocol';

/** More than this is a fault. */
export const CONNECTOR_LAG_MS_MAX = 60_000;
/** A slot is in danger when less than this share of what the database may keep for it is left. */
const SAFE_SHARE_MIN = 0.2;

/** A report as of now. */
export interface ConnectorNow extends Pick<ConnectorReport, 'state' | 'error' | 'slot' | 'problems' | 'tables'> {
  readonly lag_ms: number;
  /** How old the report is. */
  readonly ageMs: number;
}

/** Finds what somebody should look at. No report is a fault, too: silence must never look like health. */
export function connectorFaults(now: ConnectorNow): ConnectorFault[] {
  const { state, error, slot, problems, tables, lag_ms, ageMs } = now;
  const faults: ConnectorFault[] = [];
  const why = error === null ? '' : `: ${error.message}`;
  if (state === 'waiting')
    faults.push({ code: 'not_connected', message: `it is not connected, and tries again${why}` });
  if (ageMs > CONNECTOR_LAG_MS_MAX) {
    faults.push({ code: 'silent', message: `it has not reported for ${durationText(ageMs)}; does it run?` });
  }
  if (lag_ms > CONNECTOR_LAG_MS_MAX) {
    const table = tables.find(({ phase }) => phase !== 'ready');
    const what = table === undefined ? '' : `: ${notReadyText(table)}`;
    faults.push({ code: 'behind', message: `it is ${durationText(lag_ms)} behind${what}` });
  }
  const ofSlot = slot === null ? null : slotFault(slot);
  if (ofSlot !== null) faults.push(ofSlot);
  const { count } = problems;
  if (count > 0)
    faults.push({ code: 'rows_refused', message: `${count} ${count === 1 ? 'row' : 'rows'} cannot be stored` });
  return faults;
}

export function notReadyText({ table, phase, percent }: ConnectorTable): string {
  return `the table ${table} is not ready: ${phase}${percent === null ? '' : ` (${percent} %)`}`;
}

function slotFault(slot: ConnectorSlot): ConnectorFault | null {
  const { name, wal_status: status, invalidation_reason: reason, retained_bytes: retained, safe_bytes: safe } = slot;
  if (status === 'lost' || reason !== null) {
    const message = `the replication slot ${name} is lost (${reason ?? status}); everything is compared at the next connection`;
    return { code: 'slot_lost', message };
  }
  const isShort = safe !== null && safe < (safe + (retained ?? 0)) * SAFE_SHARE_MIN;
  if (status !== 'unreserved' && !isShort) return null;
  const left = `${Math.max(0, safe ?? 0)} bytes of log`;
  return { code: 'slot_in_danger', message: `the replication slot ${name} will be lost after ${left} more` };
}

/** `75 s`, `12 min`, `34 h`. */
export function durationText(ms: number): string {
  const s = Math.round(ms / 1_000);
  if (s < 120) return `${s} s`;
  const min = Math.round(s / 60);
  return min < 120 ? `${min} min` : `${Math.round(min / 60)} h`;
}
