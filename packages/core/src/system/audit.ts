import { AUDIT_GROUPS_MAX, AUDIT_SUMMED_MS, LIST_MAX, parseJson, pointer, Refusal } from '@tidemark/protocol';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { Store } from '../ports/store.ts';
import { isoTime, newestFirstKey } from '../primitives/time.ts';

/** One entry of the audit trail. It never holds secrets or object data. */
export interface AuditFact {
  /** The login; null when the caller was not authenticated. */
  readonly actor: string | null;
  readonly token_id: string | null;
  readonly action: string;
  readonly target: string | null;
  /** `ok`, or the code of the refusal. */
  readonly result: string;
  readonly address: string;
  readonly request_id: string;
}

export interface AuditView extends AuditFact {
  readonly id: string;
  readonly at: string;
  /** How often it happened since `at`. Only failed logins are counted together; for all others it is 1. */
  readonly count: number;
}

export interface AuditPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** The default retention. */
export const AUDIT_RETENTION_MS = 365 * 24 * 3_600_000;
const TRIM_STEP = 1_000;
/** The address of an entry that combines several addresses. */
const EVERYWHERE = '*';

/** Equal facts within `AUDIT_SUMMED_MS`, which are stored as one entry with a count. */
interface SummedFact {
  readonly key: readonly string[];
  readonly fact: AuditFact;
  readonly atMs: number;
  count: number;
  writtenCount: number;
  /** The last write. Counts are written one after the other, so that the last one is the largest. */
  writing: Promise<void>;
}

/**
 * The audit trail of administrative calls. Entries are added, and deleted after the retention; only the count of failed
 * logins ever changes.
 */
export class Audit {
  readonly #ports: AuditPorts;
  /** By group, oldest first. */
  readonly #summed = new Map<string, SummedFact>();

  constructor(ports: AuditPorts) {
    this.#ports = ports;
  }

  async record(fact: AuditFact): Promise<void> {
    const atMs = this.#ports.clock.nowMs();
    await this.#write(this.#newKey(atMs), JSON.stringify({ ...fact, atMs }), 0);
  }

  /**
   * Records a fact that unauthenticated callers can cause any number of times. Facts that differ only in their request id
   * are combined for `AUDIT_SUMMED_MS` into one entry with a count. Beyond `AUDIT_GROUPS_MAX` entries in that time, all
   * others are combined without actor and address.
   */
  async recordSummed(fact: AuditFact): Promise<void> {
    const summed = this.#summedFor(fact);
    summed.count++;
    const done = summed.writing.then(() => this.#writeCount(summed));
    // `done` rejects when the write fails; the next count is written nevertheless.
    summed.writing = done.catch(() => undefined);
    await done;
  }

  #summedFor(fact: AuditFact): SummedFact {
    const atMs = this.#ports.clock.nowMs();
    for (const [group, { atMs: begunMs }] of this.#summed) {
      // An entry from the future was written before the clock was set back, so its age is unknown.
      if (atMs - begunMs < AUDIT_SUMMED_MS && atMs >= begunMs) break;
      this.#summed.delete(group);
    }
    const own = this.#summed.get(groupOf(fact));
    if (own !== undefined) return own;
    const summedFact = this.#summed.size < AUDIT_GROUPS_MAX ? fact : { ...fact, actor: null, address: EVERYWHERE };
    const group = groupOf(summedFact);
    const known = this.#summed.get(group);
    if (known !== undefined) return known;
    const key = this.#newKey(atMs);
    const summed = { key, fact: summedFact, atMs, count: 0, writtenCount: 0, writing: Promise.resolve() };
    this.#summed.set(group, summed);
    return summed;
  }

  async #writeCount(summed: SummedFact): Promise<void> {
    const { key, fact, atMs, count, writtenCount } = summed;
    if (writtenCount === count) return;
    await this.#write(key, JSON.stringify({ ...fact, atMs, count }));
    summed.writtenCount = count;
  }

  #newKey(atMs: number): readonly string[] {
    return [idOf(atMs, Buffer.from(this.#ports.random.bytes(6)).toString('hex'))];
  }

  async #write(key: readonly string[], value: string, expect?: number): Promise<void> {
    const write = { kind: 'audit' as const, key, value, ...(expect === undefined ? {} : { expect }) };
    await this.#ports.store.writeEntries({ writes: [write], guards: [] });
  }

  /** Lists newest first; `after` is the last id of the previous page. */
  async list(page: { readonly after?: string; readonly limit?: number } = {}): Promise<readonly AuditView[]> {
    const { after, limit = 100 } = page;
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > LIST_MAX) {
      const detail = `must be a whole number from 1 to ${LIST_MAX}`;
      throw new Refusal('invalid_value', `limit ${detail}`, [{ pointer: pointer('limit'), detail }]);
    }
    const from = after === undefined ? {} : { after: [after] };
    const entries = await this.#ports.store.listEntries({ kind: 'audit', prefix: [], limit, ...from });
    return entries.map(({ key, value }) => viewOf(key[0] ?? '', value));
  }

  /**
   * Deletes entries older than the retention, in steps of `TRIM_STEP`, while `mayGoOn` returns true before the next step.
   * Returns the number of deleted entries.
   */
  async trim(
    nowMs: number,
    retentionMs = AUDIT_RETENTION_MS,
    mayGoOn: () => Promise<boolean> = async () => true,
  ): Promise<number> {
    const after = [idOf(Math.max(0, nowMs - retentionMs), '~')];
    let gone = 0;
    for (;;) {
      const old = await this.#ports.store.listEntries({ kind: 'audit', prefix: [], after, limit: TRIM_STEP });
      const writes = old.map(({ key }) => ({ kind: 'audit' as const, key, value: null }));
      if (writes.length > 0) await this.#ports.store.writeEntries({ writes, guards: [] });
      gone += writes.length;
      if (writes.length < TRIM_STEP || !(await mayGoOn())) return gone;
    }
  }
}

/** Facts of the same group are combined. */
function groupOf({ actor, action, target, result, address }: AuditFact): string {
  return JSON.stringify([actor, action, target, result, address]);
}

function idOf(atMs: number, word: string): string {
  return `${newestFirstKey(atMs)}-${word}`;
}

function viewOf(id: string, value: string): AuditView {
  const {
    atMs,
    count = 1,
    ...fact
  } = parseJson(value) as AuditFact & { readonly atMs: number; readonly count?: number };
  return { id, at: isoTime(atMs), ...fact, count };
}
