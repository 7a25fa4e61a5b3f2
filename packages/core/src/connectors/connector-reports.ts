import {
  CONNECTORS_MAX,
  type Connector,
  type ConnectorFault,
  type ConnectorReport,
  parseJson,
  pointer,
  Refusal,
} from '@tidemark/protocol';
import { admitName, quoted } from '../admission/admit-name.ts';
import { allEntries } from '../entries/all-entries.ts';
import { lastOf } from '../entries/owner-index.ts';
import { CONNECTOR, refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { isoTime } from '../primitives/time.ts';
import { connectorFaults, notReadyText } from './connector-faults.ts';

/** Connectors report at least this often; an older report counts as lag. */
const FRESH_MS = 15_000;

/** A connector without what only the server that answers knows. */
export type ConnectorView = Omit<Connector, 'is_configured'>;

interface Stored {
  readonly report: ConnectorReport;
  readonly reportedAtMs: number;
  /** When the connector was first heard of. */
  readonly firstAtMs: number;
}

/** The last report of each connector. */
export class ConnectorReports {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  async report(name: unknown, report: ConnectorReport): Promise<ConnectorView> {
    const admitted = admitName('source', name, pointer('connector'));
    admitTime(report.fresh_at);
    const before = await this.#read(admitted);
    if (before === null) await this.#admitAnother();
    const nowMs = this.#clock.nowMs();
    // A connector that has just begun does not know what an earlier run had reached.
    const fresh_at = report.fresh_at ?? before?.report.fresh_at ?? null;
    const stored = { report: { ...report, fresh_at }, reportedAtMs: nowMs, firstAtMs: before?.firstAtMs ?? nowMs };
    await this.#store.writeEntries({
      writes: [{ ...refs.connector(admitted), value: JSON.stringify(stored) }],
      guards: [],
    });
    return viewOf(admitted, stored, nowMs);
  }

  /** Reports a connector that nobody has heard of, so that one that never comes is noticed. */
  async expect(name: string): Promise<void> {
    if ((await this.#read(name)) === null) await this.report(name, NOTHING_YET);
  }

  async list(): Promise<readonly ConnectorView[]> {
    const nowMs = this.#clock.nowMs();
    const views: ConnectorView[] = [];
    for await (const { key, value } of allEntries(this.#store, 'setting', [CONNECTOR])) {
      views.push(viewOf(lastOf(key), parseJson(value) as Stored, nowMs));
    }
    return views;
  }

  async get(name: string): Promise<ConnectorView> {
    const stored = await this.#read(name);
    if (stored === null) throw new Refusal('connector_not_found', `there is no connector ${quoted(name)}`);
    return viewOf(name, stored, this.#clock.nowMs());
  }

  async forget(name: string): Promise<{ readonly deleted: string }> {
    await this.get(name);
    await this.#store.writeEntries({ writes: [{ ...refs.connector(name), value: null }], guards: [] });
    return { deleted: name };
  }

  async #read(name: string): Promise<Stored | null> {
    const entry = await this.#store.readEntry(refs.connector(name));
    return entry === null ? null : (parseJson(entry.value) as Stored);
  }

  async #admitAnother(): Promise<void> {
    const page = await this.#store.listEntries({ kind: 'setting', prefix: [CONNECTOR], limit: CONNECTORS_MAX });
    if (page.length < CONNECTORS_MAX) return;
    throw new Refusal('limit_exceeded', `there are at most ${CONNECTORS_MAX} connectors; delete those that are gone`);
  }
}

function admitTime(text: string | null): void {
  if (text === null || Number.isFinite(Date.parse(text))) return;
  const detail = 'must be a moment such as 2030-01-31T12:00:00Z, or null';
  throw new Refusal('invalid_value', `fresh_at ${detail}`, [{ pointer: pointer('fresh_at'), detail }]);
}

function viewOf(name: string, { report, reportedAtMs, firstAtMs }: Stored, nowMs: number): ConnectorView {
  const ageMs = Math.max(0, nowMs - reportedAtMs);
  const freshMs = report.fresh_at === null ? firstAtMs : Date.parse(report.fresh_at);
  const lagMs = report.lag_ms ?? Math.max(0, reportedAtMs - freshMs);
  const lag_ms = lagMs + (ageMs > FRESH_MS ? ageMs : 0);
  const faults = connectorFaults({ ...report, lag_ms, ageMs });
  return { name, ...report, lag_ms, reported_at: isoTime(reportedAtMs), faults };
}

const STALE: ReadonlySet<string> = new Set<ConnectorFault['code']>(['behind', 'silent', 'not_connected']);

/** Says why the connector that fills a source has not brought everything; null: it has, or no connector fills the source. */
export function reasonOfDelay(
  connectors: readonly ConnectorView[],
  source: string,
): { readonly name: string; readonly reason: string } | null {
  for (const { name, tables, faults } of connectors) {
    const table = tables.find((one) => one.source === source);
    if (table === undefined) continue;
    const fault = faults.find(({ code }) => STALE.has(code));
    if (fault !== undefined) return { name, reason: fault.message };
    if (table.phase === 'ready') return null;
    return { name, reason: notReadyText(table) };
  }
  return null;
}

const NOTHING_YET: ConnectorReport = {
  ...{ kind: 'postgres', state: 'starting', runs_in: 'server', server: null, fresh_at: null, lag_ms: null },
  ...{ position: null, rows_total: 0, rows_per_s: 0, slot: null, tables: [], error: null, healed: null },
  problems: { count: 0, samples: [] },
  waiting: { count: 0, samples: [] },
};
