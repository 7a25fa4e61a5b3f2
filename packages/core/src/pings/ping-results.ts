import { LIST_MAX, PING_RESULTS_MAX, PINGS_KEPT_MAX, pointer, Refusal } from '@tidemark/protocol';
import { allEntries } from '../entries/all-entries.ts';
import { lastOf } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { EntryWrite, Store } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { newestFirstKey } from '../primitives/time.ts';
import {
  isFinal,
  PingCounts,
  type PingedHead,
  type PingRecord,
  type PingView,
  pingView,
  type ResultRecord,
  type ResultView,
  readPingRecord,
  readResultRecord,
  resultView,
} from './ping-record.ts';

export interface PingResultsPorts {
  readonly store: Store;
  readonly clock: Clock;
  /** How long results are kept. */
  readonly retentionMs?: number;
  /** The maximum number of results; the oldest pings are deleted first. */
  readonly resultsMax?: number;
  /** Returns by when the device had acknowledged these heads; null: it has not. Absent: results do not say. */
  readonly caughtUpByMs?: (client: string, heads: readonly PingedHead[]) => Promise<number | null>;
}

export interface NewResult {
  readonly ping: string;
  readonly client: string;
  readonly result: ResultRecord;
}

interface Pending {
  readonly given: NewResult;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export interface PingPage extends PingView {
  readonly results: readonly ResultView[];
}

const RETENTION_MS = 7 * 24 * 3_600_000;
/** Results written in one batch. */
const BATCH_MAX = 500;
/** Results deleted in one batch. */
const TRIM_STEP = 1_000;

/** The results of pings: one entry for each ping with its counts, one for each device. Both change in one batch. */
export class PingResults {
  readonly #ports: Required<PingResultsPorts>;
  readonly #pending: Pending[] = [];
  #isWriting = false;

  constructor(ports: PingResultsPorts) {
    const caughtUpByMs = async () => null;
    this.#ports = { retentionMs: RETENTION_MS, resultsMax: PING_RESULTS_MAX, caughtUpByMs, ...ports };
  }

  async open(id: string, record: PingRecord): Promise<void> {
    const write = { ...refs.ping(id), value: JSON.stringify(record), expect: 0 };
    await this.#ports.store.writeEntries({ writes: [write], guards: [] });
  }

  /** Deletes the entry of a ping that was not sent. */
  async withdraw(id: string): Promise<void> {
    await this.#ports.store.writeEntries({ writes: [{ ...refs.ping(id), value: null }], guards: [] });
  }

  /** Moves `devices` devices of a ping from sent to skipped. */
  async leaveOut(id: string, devices: number): Promise<void> {
    const { store } = this.#ports;
    await retryOnConflict(async () => {
      const entry = await store.readEntry(refs.ping(id));
      if (entry === null) return true;
      const old = readPingRecord(entry.value);
      const record = { ...old, devices: old.devices - devices, skipped: old.skipped + devices };
      const write = { ...refs.ping(id), value: JSON.stringify(record), expect: entry.version };
      return (await store.writeEntries({ writes: [write], guards: [] })).status === 'written' ? true : null;
    });
  }

  async of(ping: string, client: string): Promise<ResultRecord | null> {
    const entry = await this.#ports.store.readEntry(refs.pingResult(ping, client));
    return entry === null ? null : readResultRecord(entry.value);
  }

  /**
   * Resolves when the result is stored, or its ping was deleted. Results that arrive during a write are written together
   * in the next batch.
   */
  record(result: NewResult): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ given: result, resolve, reject });
      if (!this.#isWriting) void this.#writeAll();
    });
  }

  /** Lists newest first; `after` is the last id of the previous page. */
  async list(page: { readonly after?: string; readonly limit?: number } = {}): Promise<readonly PingView[]> {
    const { after, limit = 100 } = page;
    const from = after === undefined ? {} : { after: [after] };
    const list = { kind: 'ping', prefix: [], limit: admitLimit(limit), ...from } as const;
    const entries = await this.#ports.store.listEntries(list);
    return entries.map(({ key, value }) => pingView(lastOf(key), readPingRecord(value)));
  }

  /** Returns the ping with a page of its results, by client id; `after` is the last id of the previous page. */
  async get(id: string, page: { readonly after?: string; readonly limit?: number } = {}): Promise<PingPage> {
    const { after, limit = 1_000 } = page;
    const entry = await this.#ports.store.readEntry(refs.ping(id));
    if (entry === null) throw new Refusal('ping_not_found', `there is no ping ${JSON.stringify(id)}`);
    const from = after === undefined ? {} : { after: [id, after] };
    const list = { kind: 'ping_result', prefix: [id], limit: admitLimit(limit), ...from } as const;
    const results = await this.#ports.store.listEntries(list);
    return {
      ...pingView(id, readPingRecord(entry.value)),
      results: await Promise.all(results.map(({ key, value }) => this.#view(lastOf(key), readResultRecord(value)))),
    };
  }

  async #view(client: string, record: ResultRecord): Promise<ResultView> {
    const { caughtUpByMs } = this.#ports;
    const { heads = [] } = record;
    return resultView(client, record, heads.length === 0 ? null : await caughtUpByMs(client, heads));
  }

  /** Deletes pings that are too old or too many, with their results. Returns how many. */
  async trim(nowMs: number): Promise<number> {
    const cut = newestFirstKey(Math.max(0, nowMs - this.#ports.retentionMs));
    let pings = 0;
    let results = 0;
    let forgotten = 0;
    for await (const { key, value } of allEntries(this.#ports.store, 'ping', [])) {
      const id = lastOf(key);
      pings++;
      results += readPingRecord(value).devices;
      const isKept = id < cut && pings <= PINGS_KEPT_MAX && results <= this.#ports.resultsMax;
      if (isKept) continue;
      await this.#forget(id);
      forgotten++;
    }
    return forgotten;
  }

  /** Deletes the ping first, so that no result is added meanwhile. */
  async #forget(id: string): Promise<void> {
    const { store } = this.#ports;
    await this.withdraw(id);
    for (;;) {
      const page = await store.listEntries({ kind: 'ping_result', prefix: [id], limit: TRIM_STEP });
      if (page.length === 0) return;
      const writes: EntryWrite[] = page.map(({ key }) => ({ kind: 'ping_result', key, value: null }));
      await store.writeEntries({ writes, guards: [] });
    }
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#pending.length > 0) {
      const batch = this.#pending.splice(0, BATCH_MAX);
      try {
        let isFirstTry = true;
        const results = batch.map(({ given }) => given);
        await retryOnConflict(() => {
          const written = this.#tryWrite(results, isFirstTry);
          isFirstTry = false;
          return written;
        });
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isWriting = false;
  }

  /**
   * Returns null when another server has written to the same ping. The first try assumes that a first attempt has no result
   * yet, which saves look-ups; the write checks it.
   */
  async #tryWrite(batch: readonly NewResult[], isAssumedNew: boolean): Promise<true | null> {
    const writes: EntryWrite[] = [];
    for (const [ping, results] of byPing(batch)) writes.push(...(await this.#writesFor(ping, results, isAssumedNew)));
    if (writes.length === 0) return true;
    return (await this.#ports.store.writeEntries({ writes, guards: [] })).status === 'written' ? true : null;
  }

  async #writesFor(
    ping: string,
    results: ReadonlyMap<string, ResultRecord>,
    isAssumedNew: boolean,
  ): Promise<EntryWrite[]> {
    const { store } = this.#ports;
    const entry = await store.readEntry(refs.ping(ping));
    // The ping was deleted, so its results are no longer needed.
    if (entry === null) return [];
    const old = readPingRecord(entry.value);
    const tally = new PingCounts(old);
    const writes: EntryWrite[] = [];
    for (const [client, result] of results) {
      const isFirst = isAssumedNew && result.attempts === 1;
      const known = isFirst ? null : await store.readEntry(refs.pingResult(ping, client));
      const kept = tally.add(known === null ? null : readResultRecord(known.value), result);
      if (kept === null) continue;
      const { kind, key } = refs.pingResult(ping, client);
      writes.push({ kind, key, value: JSON.stringify(kept), expect: known?.version ?? 0 });
    }
    const record = tally.ping;
    if (record !== old) writes.push({ ...refs.ping(ping), value: JSON.stringify(record), expect: entry.version });
    return writes;
  }
}

/** Groups results by ping. The last result of a device counts, unless an earlier one was final. */
function byPing(batch: readonly NewResult[]): ReadonlyMap<string, ReadonlyMap<string, ResultRecord>> {
  const pings = new Map<string, Map<string, ResultRecord>>();
  for (const { ping, client, result } of batch) {
    const results = pings.get(ping) ?? new Map<string, ResultRecord>();
    const earlier = results.get(client);
    if (earlier === undefined || !isFinal(earlier.status)) results.set(client, result);
    pings.set(ping, results);
  }
  return pings;
}

function admitLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= LIST_MAX) return limit;
  const detail = `must be a whole number from 1 to ${LIST_MAX}`;
  throw new Refusal('invalid_value', `limit ${detail}`, [{ pointer: pointer('limit'), detail }]);
}
