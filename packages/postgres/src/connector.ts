import { randomBytes } from 'node:crypto';
import type { TidemarkClient } from '@tidemark/backend';
import { DatabaseError } from 'pg';
import type { MappedTable } from './apply/row.ts';
import { readCatalogue } from './catalogue/read-catalogue.ts';
import { checkPublication } from './check/check-publication.ts';
import { mappedTables } from './check/check-tables.ts';
import { type Clock, systemClock } from './clock.ts';
import { buildPlan } from './mapping/build-plan.ts';
import type { Mapping } from './mapping/mapping.ts';
import type { PlannedTable } from './mapping/plan.ts';
import { ReplicationConnection } from './replication/replication-connection.ts';
import { SlotWatch } from './replication/slot-watch.ts';
import type { ConnectorEvents } from './run/connector-events.ts';
import { type LoadedPlan, type PreparedSession, prepareSession } from './run/open-session.ts';
import { readOrigins, readShape } from './run/read-origins.ts';
import { Session } from './run/session.ts';
import { openSql, type Sql } from './sql/open-sql.ts';
import type { DatabaseAddress } from './sql/parse-url.ts';
import { StateStore, type TableOrigin, type TablePhase } from './state/connector-state.ts';

export interface ConnectorOptions {
  readonly client: TidemarkClient;
  /** Names the connector; its slot and its state are found by it. */
  readonly name: string;
  readonly address: DatabaseAddress;
  readonly mapping: Mapping;
  /** The name of the mapping file, for messages. */
  readonly mappingFile: string;
  readonly events?: ConnectorEvents;
  /** The name under which Tidemark reaches what makes the changes of devices. Absent: devices can change nothing. */
  readonly adapter?: string;
  /** A batch is applied when it has so many rows or bytes, within a transaction only when these are its own. */
  readonly batchRowsMax?: number;
  readonly batchBytesMax?: number;
  /** How often a heartbeat is written into the log. */
  readonly heartbeatMs?: number;
  /** How many users and parents that rows wait for, and rows that were refused, are kept in memory. */
  readonly waitingMax?: number;
  readonly refusedMax?: number;
  /** A connection of an earlier run that keeps the slot and says nothing for so long is ended. */
  readonly slotSilenceMs?: number;
}

const BATCH_ROWS_MAX = 10_000;
const BATCH_BYTES_MAX = 4_000_000;
const HEARTBEAT_MS = 10_000;
/** A stream says three times in this time that it is alive. */
const SLOT_SILENCE_MS = 30_000;
/** A chunk that did not see all transactions before it is read again after this. */
const READ_AGAIN_MS = 50;
/** How often it is looked whether Tidemark has the rows that devices have created. */
const LOOK_MS = 100;
const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 30_000;

/** Keeps Tidemark equal to the tables of a Postgres database. */
export class Connector {
  readonly #options: ConnectorOptions;
  readonly #clock: Clock = systemClock;
  readonly #progress = new Progress();
  readonly #stop = new AbortController();
  readonly #slotWatch: SlotWatch;
  #running: { readonly connection: ReplicationConnection } | null = null;
  #failures = 0;

  constructor(options: ConnectorOptions) {
    this.#options = options;
    const { mapping, slotSilenceMs: silenceMsMax = SLOT_SILENCE_MS } = options;
    this.#slotWatch = new SlotWatch({ slot: mapping.slot, applicationName: applicationNameOf(options), silenceMsMax });
  }

  /** Runs until `stop`. After a failure it begins again where everything is durable. */
  async run(): Promise<void> {
    const { events } = this.#options;
    while (!this.#stop.signal.aborted) {
      try {
        events?.onState?.('connecting');
        await this.runOnce();
      } catch (error) {
        if (this.#stop.signal.aborted) break;
        events?.onState?.('waiting', error instanceof Error ? error : new Error(String(error)));
        const pauseMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(this.#failures, 10));
        this.#failures++;
        await this.#pause(pauseMs);
      }
    }
    events?.onState?.('stopped');
  }

  /** Runs until `stop`, or until something fails. */
  async runOnce(): Promise<void> {
    const { address, name, client, events = {}, mapping, adapter = null, waitingMax, refusedMax } = this.#options;
    const { slot, publication } = mapping;
    const sql = openSql(address, {
      connections: 2,
      applicationName: applicationNameOf(this.#options),
      lookup: 'catalogue',
    });
    const connection = ReplicationConnection.open(address, this.#clock, applicationNameOf(this.#options));
    this.#running = { connection };
    const timers: (() => void)[] = [];
    try {
      const store = new StateStore(client, name);
      const onCopied = (table: MappedTable, phase: TablePhase) => this.#report(prepared, table, phase);
      const loadPlan = () => this.#loadPlan(sql);
      const origins = (tables: readonly PlannedTable[]) => this.#readOrigins(sql, tables);
      const setup = {
        ...{ client, name, slot, sql, store, events, onCopied, adapter, waitingMax, refusedMax },
        ...{ loadPlan, readOrigins: origins, readShape: (tables: readonly PlannedTable[]) => readShape(sql, tables) },
      };
      const prepared: PreparedSession = await prepareSession(setup, await connection.identify());
      const runId = randomBytes(8).toString('hex');
      const stream = await connection.start({ slot, publication, from: prepared.position });
      const session = new Session(stream, prepared.tables, this.#sessionOptions(prepared, store, runId));
      let shutDown: unknown = null;
      const beat = async () => {
        shutDown ??= await this.#beat(prepared, runId);
        // It waits until the stream is acknowledged or ended, and what is held back cannot be looked up any more.
        if (shutDown !== null) await connection.close();
      };
      timers.push(this.#clock.every(this.#options.heartbeatMs ?? HEARTBEAT_MS, () => void beat()));
      // Rows that devices have created wait for Tidemark, which tells nobody when it has them.
      const look = () =>
        prepared.tables.created.isEmpty ? undefined : prepared.reader.beat('created').catch(() => undefined);
      timers.push(this.#clock.every(LOOK_MS, () => void look()));
      if (this.#stop.signal.aborted) return;
      events.onState?.('streaming');
      await beat();
      await session.run();
      if (shutDown !== null) throw shutDown;
    } catch (error) {
      throw await this.#slotWatch.explain(sql, error, this.#clock.nowMs());
    } finally {
      this.#running = null;
      for (const end of timers) end();
      await connection.close();
      await sql.end();
    }
  }

  /** Ends the stream. What is durable is stored, so that the next run goes on there. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running?.connection.close();
  }

  async #loadPlan(sql: Sql): Promise<LoadedPlan> {
    const { mapping, mappingFile } = this.#options;
    const catalogue = await readCatalogue(sql);
    return { plan: buildPlan(mapping, catalogue, mappingFile), types: catalogue.types };
  }

  async #readOrigins(sql: Sql, tables: readonly PlannedTable[]): Promise<ReadonlyMap<string, TableOrigin>> {
    const { publication } = this.#options.mapping;
    let findings = await checkPublication(sql, publication, tables);
    // A column that was renamed or dropped is not missing: the stream has not told of it yet.
    if (findings.length > 0) {
      const { plan } = await this.#loadPlan(sql);
      findings = await checkPublication(sql, publication, mappedTables(plan));
    }
    const [finding] = findings;
    // Changes that it leaves out would be missed without a word.
    if (finding !== undefined) throw new Error(`${finding.message}: ${finding.sql.join('; ')}`);
    return readOrigins(sql, publication, tables);
  }

  /** One that cannot be written never arrives, which shows as lag. Returns the error of a server that is being shut down. */
  async #beat({ reader }: PreparedSession, runId: string): Promise<unknown> {
    const nowMs = this.#clock.nowMs();
    this.#options.events?.onBeat?.(nowMs);
    try {
      await reader.beat(`${runId} ${nowMs}`);
      return null;
    } catch (error) {
      return isShuttingDown(error) ? error : null;
    }
  }

  #sessionOptions(prepared: PreparedSession, store: StateStore, runId: string) {
    const { batchRowsMax = BATCH_ROWS_MAX, batchBytesMax = BATCH_BYTES_MAX, events } = this.#options;
    return {
      ...{ runId, batchRowsMax, batchBytesMax },
      position: prepared.position,
      recentXids: prepared.recentXids,
      nowMs: () => this.#clock.nowMs(),
      turn: () => new Promise<void>((resolve) => setImmediate(resolve)),
      pause: () => this.#pause(READ_AGAIN_MS),
      onLag: (lagMs: number) => {
        if (!prepared.tables.isComparing) events?.onLag?.(lagMs);
      },
      onRows: (rows: number) => events?.onRows?.(rows),
      store: async (position: bigint, recentXids: readonly number[]) => {
        const state = prepared.stateAt(position, recentXids);
        await store.write(state);
        this.#failures = 0;
        events?.onPosition?.(state.position);
      },
    };
  }

  async #report({ reader }: PreparedSession, table: MappedTable, phase: TablePhase): Promise<void> {
    const { onProgress } = this.#options.events ?? {};
    if (onProgress === undefined) return;
    const estimate = await this.#progress.estimateOf(table.label, () => reader.estimate(table));
    onProgress({
      table: table.label,
      phase: phase.name,
      ...this.#progress.note(table.label, phase, this.#clock.nowMs()),
      estimate,
    });
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const { signal } = this.#stop;
      const cancel = this.#clock.after(delayMs, end);
      signal.addEventListener('abort', end);
      function end() {
        cancel();
        signal.removeEventListener('abort', end);
        resolve();
      }
    });
  }
}

/** What Postgres calls the connections of the connector. */
function applicationNameOf({ name }: ConnectorOptions): string {
  return `tidemark ${name}`;
}

/** SQLSTATE 57P03 of a server that takes no connections because it is starting or shutting down. */
function isShuttingDown(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '57P03';
}

/** How fast tables are copied. */
class Progress {
  readonly #begun = new Map<string, { readonly atMs: number; readonly rows: number }>();
  readonly #estimates = new Map<string, Promise<number>>();
  readonly #rows = new Map<string, number>();

  note(label: string, phase: TablePhase, nowMs: number): { readonly rows: number; readonly rowsPerS: number } {
    const rows = phase.name === 'copying' ? phase.rows : (this.#rows.get(label) ?? 0);
    const begun = this.#begun.get(label) ?? { atMs: nowMs, rows };
    this.#begun.set(label, begun);
    this.#rows.set(label, rows);
    const seconds = (nowMs - begun.atMs) / 1000;
    return { rows, rowsPerS: seconds > 0 ? Math.round((rows - begun.rows) / seconds) : 0 };
  }

  estimateOf(label: string, read: () => Promise<number>): Promise<number> {
    const estimate = this.#estimates.get(label) ?? read().catch(() => 0);
    this.#estimates.set(label, estimate);
    return estimate;
  }
}
