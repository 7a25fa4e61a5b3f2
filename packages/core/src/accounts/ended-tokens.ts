import { ENDED_TOKENS_MS, parseJson, type RefusalCode } from '@tidemark/protocol';
import { allEntries } from '../entries/all-entries.ts';
import { ENDED_TOKEN, refs } from '../entries/refs.ts';
import type { EntryWrite, Store } from '../ports/store.ts';

/** Why the token of a device has ended, as its next call is told. */
export type TokenEnd = Extract<RefusalCode, 'token_revoked' | 'password_changed' | 'client_deleted'>;

export interface EndedBecause {
  readonly code: TokenEnd;
  readonly nowMs: number;
}

interface EndedRecord {
  readonly code: TokenEnd;
  readonly untilMs: number;
}

/** Remembers for a while why a token has ended. Only its hash is stored, and nothing about its owner. */
export function endedWrite(hash: string, { code, nowMs }: EndedBecause): EntryWrite {
  const record: EndedRecord = { code, untilMs: nowMs + ENDED_TOKENS_MS };
  return { ...refs.endedToken(hash), value: JSON.stringify(record) };
}

export async function readTokenEnd(store: Store, hash: string): Promise<TokenEnd | null> {
  const entry = await store.readEntry(refs.endedToken(hash));
  return entry === null ? null : (parseJson(entry.value) as EndedRecord).code;
}

/** Records of a clock that was ahead are forgotten, too: they would stay too long. */
export async function trimTokenEnds(store: Store, nowMs: number): Promise<void> {
  const writes: EntryWrite[] = [];
  for await (const { key, value } of allEntries(store, 'setting', [ENDED_TOKEN])) {
    const { untilMs } = parseJson(value) as EndedRecord;
    if (untilMs <= nowMs || untilMs > nowMs + ENDED_TOKENS_MS) writes.push({ kind: 'setting', key, value: null });
  }
  for (let at = 0; at < writes.length; at += TRIM_WRITES_MAX) {
    await store.writeEntries({ writes: writes.slice(at, at + TRIM_WRITES_MAX), guards: [] });
  }
}

const TRIM_WRITES_MAX = 1_000;
