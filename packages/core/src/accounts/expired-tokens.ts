import { lastOf } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import { isAhead } from '../ports/clock.ts';
import type { Entry, EntryList, EntryWrite, Store } from '../ports/store.ts';
import { trimTokenEnds } from './ended-tokens.ts';
import { readTokenRecord, tokenRemovals, writeTokenRecord } from './token-record.ts';

const TRIM_PAGE = 1_000;

/**
 * Deletes expired tokens and returns how many. Tokens issued by a clock that was ahead would live too long: they get
 * new dates, and expire after their original lifetime, counted from now.
 */
export async function trimExpiredTokens(store: Store, nowMs: number): Promise<number> {
  await trimTokenEnds(store, nowMs);
  let after: readonly string[] | undefined;
  let gone = 0;
  for (;;) {
    const page: EntryList = {
      kind: 'token',
      prefix: [],
      limit: TRIM_PAGE,
      ...(after === undefined ? {} : { after }),
    };
    const entries = await store.listEntries(page);
    await redate(store, entries, nowMs);
    gone += await removeExpired(store, entries, nowMs);
    after = entries.at(-1)?.key;
    if (after === undefined || entries.length < TRIM_PAGE) return gone;
  }
}

async function removeExpired(store: Store, entries: readonly Entry[], nowMs: number): Promise<number> {
  const expired = entries
    .map(({ key, value }) => ({ hash: lastOf(key), record: readTokenRecord(value) }))
    .filter(({ record }) => record.expiresAtMs !== null && record.expiresAtMs <= nowMs);
  const writes = expired.flatMap(({ hash, record }) => tokenRemovals(record.user, [{ hash }]));
  if (writes.length > 0) await store.writeEntries({ writes, guards: [] });
  return expired.length;
}

async function redate(store: Store, entries: readonly Entry[], nowMs: number): Promise<void> {
  for (const { key, value, version } of entries) {
    const record = readTokenRecord(value);
    if (!isAhead(record.createdAtMs, nowMs)) continue;
    const hash = lastOf(key);
    const lasts = record.expiresAtMs === null ? null : record.expiresAtMs - record.createdAtMs;
    const text = writeTokenRecord({
      ...record,
      createdAtMs: nowMs,
      expiresAtMs: lasts === null ? null : nowMs + lasts,
    });
    const writes: EntryWrite[] = [
      { ...refs.token(hash), value: text, expect: version },
      { ...refs.userToken(record.user, hash), value: text },
    ];
    // A token that was revoked meanwhile is not written, because the batch expects its version.
    await store.writeEntries({ writes, guards: [] });
  }
}
