import { ClientError } from '../client-error.ts';

/**
 * Why a session ended: the token expired, the password changed, the device was signed out by somebody else, the device was
 * deleted, an administrator had the device erased; `unknown` if the server does not know any more.
 */
export type SessionEndReason =
  | 'expired'
  | 'password_changed'
  | 'signed_out_elsewhere'
  | 'device_deleted'
  | 'wiped'
  | 'unknown';

export interface SessionEnd {
  readonly reason: SessionEndReason;
  readonly atMs: number;
}

const REASONS: Readonly<Record<string, SessionEndReason>> = {
  token_expired: 'expired',
  token_revoked: 'signed_out_elsewhere',
  password_changed: 'password_changed',
  client_deleted: 'device_deleted',
  client_not_found: 'device_deleted',
};

/** Reads the reason from the refusal that caused the error. A server that has forgotten the token cannot tell that it expired. */
export function endReason(error: unknown, isExpired: boolean): SessionEndReason {
  const refusal = error instanceof ClientError && error.cause instanceof ClientError ? error.cause : error;
  const code = refusal instanceof ClientError ? refusal.code : '';
  return (Object.hasOwn(REASONS, code) ? REASONS[code] : undefined) ?? (isExpired ? 'expired' : 'unknown');
}
