import { hostname } from 'node:os';
import type { TidemarkClient } from '@tidemark/backend';
import { type ConnectorReport, errorMessage } from '@tidemark/protocol';
import { hiddenSource } from '../apply/hidden-source.ts';
import type { RowProblem } from '../apply/problems.ts';
import { type Clock, systemClock } from '../clock.ts';
import { readSlot } from '../replication/slot.ts';
import type { ConnectorEvents } from '../run/connector-events.ts';
import { openSql, type Sql } from '../sql/open-sql.ts';
import type { DatabaseAddress } from '../sql/parse-url.ts';
import { Lag } from './lag.ts';
import { TableList } from './table-list.ts';

export interface ReporterOptions {
  readonly client: TidemarkClient;
  readonly name: string;
  readonly address: DatabaseAddress;
  readonly slot: string;
  readonly runsIn: ConnectorReport['runs_in'];
  /** Gets all events, too. */
  readonly events?: ConnectorEvents;
  readonly reportMs?: number;
}

/** Tidemark takes a report that is older than three of these as lag. */
const REPORT_MS = 5_000;
const SLOT_MS_MAX = 5_000;
const CALL_MS_MAX = 5_000;
const SAMPLES_MAX = 5;
const TEXT_UNITS_MAX = 500;
const KEY_UNITS_MAX = 100;

type Slot = ConnectorReport['slot'];

/** Tells Tidemark again and again what a connector does. */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #clock: Clock = systemClock;
  readonly #sql: Sql;
  readonly #lag = new Lag();
  readonly #tables = new TableList();
  /** What the events have said last. */
  readonly #facts: Facts = { state: 'starting', position: null, rows: 0, error: null, healed: null };
  #last = { atMs: systemClock.nowMs(), rows: 0 };
  #sending: Promise<void> | null = null;
  #endTimer: () => void = () => undefined;

  constructor(options: ReporterOptions) {
    this.#options = options;
    const { address, name } = options;
    this.#sql = openSql(address, { connections: 1, applicationName: `tidemark ${name} report` });
  }

  /** Given to the connector. */
  get events(): ConnectorEvents {
    const { events } = this.#options;
    return {
      ...events,
      onState: (state, error) => {
        this.#noteState(state, error);
        events?.onState?.(state, error);
        void this.send();
      },
      onHeal: (reason) => {
        this.#facts.healed = { at: this.#isoNow(), reason };
        events?.onHeal?.(reason);
      },
      onTables: (tables) => {
        this.#tables.begin(tables);
        events?.onTables?.(tables);
      },
      onProgress: (progress) => {
        this.#tables.note(progress);
        events?.onProgress?.(progress);
      },
      onBeat: (sentAtMs) => this.#lag.sent(sentAtMs),
      onLag: (lagMs) => {
        this.#lag.arrived(this.#clock.nowMs(), lagMs);
        events?.onLag?.(lagMs);
      },
      onPosition: (position) => {
        this.#facts.position = position;
        events?.onPosition?.(position);
      },
      onRows: (rows) => {
        this.#facts.rows += rows;
      },
    };
  }

  start(): void {
    this.#endTimer = this.#clock.every(this.#options.reportMs ?? REPORT_MS, () => void this.send());
    void this.send();
  }

  /** Reports that the connector has ended. */
  async stop(): Promise<void> {
    this.#endTimer();
    await this.#sending;
    await this.send();
    await this.#sql.end();
  }

  /** One report at a time; a call during another one does nothing, because the next one comes soon. */
  send(): Promise<void> {
    this.#sending ??= this.#send()
      // A report that does not arrive is noticed where it is missed.
      .catch(() => undefined)
      .finally(() => {
        this.#sending = null;
      });
    return this.#sending;
  }

  async #send(): Promise<void> {
    const { client, name } = this.#options;
    const slot = await this.#readSlot();
    const [problems, waiting] = await Promise.all([
      this.#samples('problems', problemOf),
      this.#samples('waiting', (attributes) => attributes as ConnectorReport['waiting']['samples'][number]),
    ]);
    await client.connectors.report(name, { ...this.#report(slot), problems, waiting }, { timeoutMs: CALL_MS_MAX });
  }

  #report(slot: Slot): Omit<ConnectorReport, 'problems' | 'waiting'> {
    const nowMs = this.#clock.nowMs();
    const { state, position, rows, error, healed } = this.#facts;
    const { atMs, rows: rowsBefore } = this.#last;
    this.#last = { atMs: nowMs, rows };
    const seconds = (nowMs - atMs) / 1000;
    const { lagMs, freshAtMs } = this.#lag.at(nowMs);
    return {
      kind: 'postgres',
      state,
      runs_in: this.#options.runsIn,
      server: `${hostname()}, process ${process.pid}`,
      fresh_at: freshAtMs === null ? null : new Date(freshAtMs).toISOString(),
      lag_ms: state === 'streaming' ? lagMs : null,
      position,
      rows_total: rows,
      rows_per_s: seconds > 0 ? Math.round((rows - rowsBefore) / seconds) : 0,
      ...{ slot, tables: this.#tables.all, error, healed },
    };
  }

  /** Also while the connector is not connected: the log grows all the same. */
  async #readSlot(): Promise<Slot> {
    const slot = await this.#within(SLOT_MS_MAX, readSlot(this.#sql, this.#options.slot)).catch(() => null);
    if (slot === null) return null;
    return {
      name: slot.name,
      active: slot.isActive,
      wal_status: slot.walStatus,
      invalidation_reason: slot.invalidationReason,
      retained_bytes: wholeOf(slot.retainedBytes),
      safe_bytes: wholeOf(slot.safeBytes),
      failover: slot.isFailover,
    };
  }

  /** Reads them where the connector keeps them, so that they are known after a restart, too. */
  async #samples<Sample>(
    group: 'problems' | 'waiting',
    sampleOf: (attributes: unknown) => Sample,
  ): Promise<{ count: number; samples: Sample[] }> {
    const { client, name } = this.#options;
    const partition = { source: hiddenSource(name), group };
    const page = await client.documents
      .objects(partition, { limit: SAMPLES_MAX, timeoutMs: CALL_MS_MAX })
      // Nothing was ever kept.
      .catch(() => ({ size: 0, objects: [] }));
    return { count: page.size, samples: page.objects.map(({ attributes }) => sampleOf(attributes)) };
  }

  #noteState(state: Facts['state'], error: Error | undefined): void {
    // Another attempt after a failure is no news until it has succeeded; otherwise the fault would come and go.
    if (!(state === 'connecting' && this.#facts.state === 'waiting')) this.#facts.state = state;
    if (state !== 'streaming') this.#lag.interrupted();
    if (error !== undefined)
      this.#facts.error = { at: this.#isoNow(), message: this.#withoutSecret(errorMessage(error)) };
  }

  /** No known error contains the password. This one goes to a screen, so it is made sure of. */
  #withoutSecret(message: string): string {
    const { password } = this.#options.address;
    return (password === '' ? message : message.replaceAll(password, '***')).slice(0, TEXT_UNITS_MAX).toWellFormed();
  }

  #isoNow(): string {
    return new Date(this.#clock.nowMs()).toISOString();
  }

  async #within<T>(ms: number, work: Promise<T>): Promise<T> {
    work.catch(() => undefined);
    let cancel: () => void = () => undefined;
    const late = new Promise<never>((_, reject) => {
      cancel = this.#clock.after(ms, () => reject(new Error('the database does not answer')));
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      cancel();
    }
  }
}

interface Facts {
  state: ConnectorReport['state'];
  position: string | null;
  rows: number;
  error: ConnectorReport['error'];
  healed: ConnectorReport['healed'];
}

function problemOf(attributes: unknown): ConnectorReport['problems']['samples'][number] {
  const { table, key, reason } = attributes as RowProblem;
  return { table, key: key.slice(0, KEY_UNITS_MAX).toWellFormed(), reason };
}

function wholeOf(bytes: number | null): number | null {
  return bytes === null ? null : Math.max(0, Math.round(bytes));
}
