import { clientError } from '../client-error.ts';
import type { Reader, Transaction } from './local-state.ts';
import type { SessionRow } from './rows.ts';

/** A user: the login, and the generation, which differs for every user who is given the same login. */
export type User = Pick<SessionRow, 'userId' | 'generation'>;

/** The user whose data the device holds, and the device id at the server; both outlive a session. */
export type Owner = User & Pick<SessionRow, 'clientId'>;

export const SESSION = ['', 'session'] as const;
export const OWNER = ['', 'owner'] as const;
export const ENDED = ['', 'ended'] as const;

/** Returns the user who may make changes. */
export function writerOf(reader: Reader): User {
  const owner = reader.get('facts', OWNER) as unknown as Owner | undefined;
  const hasSession = reader.get('facts', SESSION) !== undefined || reader.get('facts', ENDED) !== undefined;
  if (hasSession && owner !== undefined) return owner;
  throw clientError('signed_out', 'nobody is signed in');
}

/** Throws unless the user who made a change is still the one whose data the device holds. */
export function requireWriter(tx: Transaction, writer: User): void {
  if (!isSameUser(writerOf(tx), writer)) throw clientError('signed_out', 'another user has signed in');
}

/** Where the generation of one is not known, as in stores of earlier versions, the login decides. */
export function isSameUser(left: User, right: User): boolean {
  if (left.generation === undefined || right.generation === undefined) return left.userId === right.userId;
  return left.userId === right.userId && left.generation === right.generation;
}
