import {
  AUDIT_GROUPS_MAX,
  AUDIT_SCAN_MAX,
  AUDIT_SUMMED_MS,
  type AuditChange,
  type AuditPage,
  type AuditSubject,
  type AuditFact as AuditView,
  LIST_MAX,
  parseJson,
  pointer,
  Refusal,
} from '@tidemark/protocol';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { Store } from '../ports/store.ts';
import { isoTime, newestFirstKey } from '../primitives/time.ts';

/** One entry of the audit trail. It never holds secrets, and object data only of changes by hand, cut short. */
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
  readonly subject?: AuditSubject;
  /** Objects that it changed by hand. Absent: it was not about objects. */
  readonly objects_changed?: number | null;
  readonly changes?: readonly AuditChange[];
  readonly are_changes_cut?: boolean;
}

/** Which entries a search wants; what is absent does not matter. */
export interface AuditSearch {
  /** The login of the person. */
  readonly actor?: string;
  /** The whole action, or its first word with the dot, such as `user.`. */
  readonly action?: string;
  /** The name of a user, device, source, group, object or other thing that the entry is about. */
  readonly about?: string;
  /** Entries from this time on. */
  readonly fromMs?: number;
  /** Entries before this time. */
  readonly toMs?: number;
  /** Where the previous page ended. */
  readonly after?: string;
  readonly limit?: number;
}

export interface AuditPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** The default retention. */
export const AUDIT_RETENTION_MS = 365 * 24 * 3_600_000;
const TRIM_STEP = 1_000;
/** Entries of a page whose size the caller does not say. */
const PAGE_FACTS = 100;
/** Entries that a search reads at a time. */
const SCAN_STEP = 1_000;
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
    const { after, limit = PAGE_FACTS } = page;
    requireLimit(limit);
    return this.#read(after, limit);
  }

  /** Returns the entries that match, newest first. It reads `AUDIT_SCAN_MAX` entries at most. */
  async search(search: AuditSearch): Promise<AuditPage> {
    const { limit = PAGE_FACTS, fromMs, toMs } = search;
    requireLimit(limit);
    const endKey = fromMs === undefined ? null : newestFirstKey(Math.max(0, fromMs));
    // Older entries follow this key; those at `toMs` itself come before it.
    const startKey = toMs === undefined ? undefined : idOf(Math.max(0, toMs), '~');
    let after = laterKey(search.after, startKey);
    const facts: AuditView[] = [];
    let scanned = 0;
    for await (const fact of this.#scan(after)) {
      if (endKey !== null && fact.id.slice(0, endKey.length) > endKey) return { facts, next: null };
      scanned++;
      after = fact.id;
      if (matches(search, fact)) facts.push(fact);
      if (facts.length === limit) return { facts, next: after };
    }
    return { facts, next: scanned < AUDIT_SCAN_MAX ? null : (after ?? null) };
  }

  /** Reads entries in steps, `AUDIT_SCAN_MAX` at most. */
  async *#scan(start: string | undefined): AsyncGenerator<AuditView, void> {
    let after = start;
    for (let scanned = 0; scanned < AUDIT_SCAN_MAX; scanned += SCAN_STEP) {
      const read = await this.#read(after, SCAN_STEP);
      yield* read;
      after = read.at(-1)?.id;
      if (read.length < SCAN_STEP) return;
    }
  }

  async #read(after: string | undefined, limit: number): Promise<readonly AuditView[]> {
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
  const { atMs, changes = [], ...stored } = parseJson(value) as AuditFact & { atMs: number; count?: number };
  const defaults = { count: 1, subject: {}, objects_changed: null, are_changes_cut: false };
  return { id, at: isoTime(atMs), ...defaults, ...stored, changes: [...changes] };
}

function requireLimit(limit: number): void {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= LIST_MAX) return;
  const detail = `must be a whole number from 1 to ${LIST_MAX}`;
  throw new Refusal('invalid_value', `limit ${detail}`, [{ pointer: pointer('limit'), detail }]);
}

function laterKey(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one > other ? one : other;
}

function matches({ actor, action, about }: AuditSearch, fact: AuditView): boolean {
  if (actor !== undefined && fact.actor !== actor) return false;
  if (action !== undefined && !(action.endsWith('.') ? fact.action.startsWith(action) : fact.action === action)) {
    return false;
  }
  if (about === undefined) return true;
  return Object.values(fact.subject).includes(about) || fact.changes.some(({ object_id }) => object_id === about);
}
