import { type JsonValue, parseJson } from '@tidemark/protocol';

export type UserAttributes = Readonly<Record<string, JsonValue>>;

/** What proves that somebody is a user. */
export interface Credential {
  readonly passwordHash: string;
  /** A random word that names this very password: a password set anew, even to the same text, gets another one. */
  readonly stamp: string;
}

/** Who somebody is at an identity provider. */
export interface Identity {
  readonly issuer: string;
  /** The claim `sub`, which the issuer gives to nobody else. */
  readonly subject: string;
}

export interface UserRecord {
  readonly attributes: UserAttributes;
  readonly admin: boolean;
  /** Null: nobody can log in with a password kept here; the backend may still vouch for the user. */
  readonly credential: Credential | null;
  /** Absent: no identity provider vouches for the user. */
  readonly identity?: Identity;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export function readUserRecord(text: string): UserRecord {
  return parseJson(text) as UserRecord;
}

export function writeUserRecord(record: UserRecord): string {
  return JSON.stringify(record);
}
