import { parseJson } from '@tidemark/protocol';
import type { Scope } from './scopes.ts';

/** What is kept of a token, under its hash. A token is issued once and goes once; only its dates change, when the clock that wrote them was ahead. */
export interface TokenRecord {
  readonly user: string;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  /** The device it was made for. */
  readonly client: string | null;
  readonly createdAtMs: number;
  /** Null: it lives until it is revoked. */
  readonly expiresAtMs: number | null;
}

/** A token that somebody has named, for a program: not that of a login, nor of a device. */
export function isServiceToken({ name, client }: Pick<TokenRecord, 'name' | 'client'>): boolean {
  return name !== null && client === null;
}

export function readTokenRecord(text: string): TokenRecord {
  return parseJson(text) as TokenRecord;
}

export function writeTokenRecord(record: TokenRecord): string {
  return JSON.stringify(record);
}
