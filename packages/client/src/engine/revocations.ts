import { REVOCATIONS_MAX } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';
import type { Replica } from '../replica/replica.ts';
import type { Reader, Transaction } from '../state/local-state.ts';
import type { Wire } from '../transport/wire.ts';

/** A session that has ended here, and that the server has not been told of. Nothing else of the session is stored. */
export interface Revocation {
  readonly token: string;
  readonly clientId: string;
  /** Changes that were lost with the session. */
  readonly unsentUploads: number;
  /** True: the server has ordered to erase the device, and waits for the confirmation. */
  readonly isWiped: boolean;
}

const REVOCATIONS = ['', 'revocations'] as const;

export function revocationsIn(reader: Reader): readonly Revocation[] {
  return (reader.get('facts', REVOCATIONS) as unknown as readonly Revocation[] | undefined) ?? [];
}

/** Beyond the limit the oldest are forgotten: their tokens expire by themselves. */
export function addRevocation(tx: Transaction, revocation: Revocation): void {
  putRevocations(tx, [...revocationsIn(tx), revocation].slice(-REVOCATIONS_MAX));
}

export function putRevocations(tx: Transaction, revocations: readonly Revocation[]): void {
  if (revocations.length === 0) tx.delete('facts', REVOCATIONS);
  else
    tx.put(
      'facts',
      REVOCATIONS,
      revocations.map((one) => ({ ...one })),
    );
}

export interface RevokerParts {
  readonly platform: Platform;
  readonly wire: Wire;
  readonly replica: Replica;
  readonly mayUseNetwork: () => boolean;
}
