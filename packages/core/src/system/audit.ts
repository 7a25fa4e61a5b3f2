import { LIST_MAX, parseJson, pointer, Refusal } from '@tidemark/protocol';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { EntryRef, Store } from '../ports/store.ts';
import { isoTime } from '../registry/iso-time.ts';
import { newestFirst } from '../registry/newest-first.ts';

/** Who did what, to what, and how it ended. Never a secret, and never object data. */
export interface AuditFact {
  /** The login, or null when nobody was recognised. */
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
}

export interface AuditPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** Facts kept when nobody says otherwise, in time. */
export const AUDIT_RETENTION_MS = 365 * 24 * 3_600_000;
const TRIM_STEP = 1_000;

/** The trail of what administrators did: facts are added and, when they are old, forgotten, but never changed. */
export class Audit {
  readonly #ports: AuditPorts;

  constructor(ports: AuditPorts) {
    this.#ports = ports;
  }

  async record(fact: AuditFact): Promise<void> {
    const atMs = this.#ports.clock.nowMs();
    const key = [idOf(atMs, Buffer.from(this.#ports.random.bytes(6)).toString('hex'))];
    const value = JSON.stringify({ ...fact, atMs });
    await this.#ports.store.writeEntries({ writes: [{ kind: 'audit', key, value, expect: 0 }], guards: [] });
  }

  /** Newest first; `after` is the id of the last one of the previous page. */
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

  /** Forgets facts older than the retention, a bounded number per call; answers how many. */
  async trim(nowMs: number, retentionMs = AUDIT_RETENTION_MS): Promise<number> {
    const after = [idOf(Math.max(0, nowMs - retentionMs), '~')];
    const old = await this.#ports.store.listEntries({ kind: 'audit', prefix: [], after, limit: TRIM_STEP });
    const refs: EntryRef[] = old.map(({ key }) => ({ kind: 'audit', key }));
    if (refs.length > 0) {
      await this.#ports.store.writeEntries({ writes: refs.map((ref) => ({ ...ref, value: null })), guards: [] });
    }
    return refs.length;
  }
}

function idOf(atMs: number, word: string): string {
  return `${newestFirst(atMs)}-${word}`;
}

function viewOf(id: string, value: string): AuditView {
  const { atMs, ...fact } = parseJson(value) as AuditFact & { readonly atMs: number };
  return { id, at: isoTime(atMs), ...fact };
}
