import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { addressClass } from '@tidemark/core';

export interface AddressRules {
  /** Private and loopback addresses too. A push service lives on the Internet, unless the operator runs one. */
  readonly allowPrivate: boolean;
}

export type Resolver = typeof systemLookup;

/** Its code is what an operator reads. */
class AddressNotAllowed extends Error {
  readonly code = 'leads to an address that is not allowed';
}

/** Whether a connection to the address may be made. */
export function isAddressAllowed(address: string, { allowPrivate }: AddressRules): boolean {
  const kind = addressClass(address);
  return kind === 'public' || (allowPrivate && (kind === 'private' || kind === 'loopback'));
}

/**
 * Resolves a name for a connection, and refuses it when it leads anywhere it must not. The addresses that were judged are
 * the ones connected to: a name that leads elsewhere a moment later gains nothing.
 */
export function guardedLookup(rules: AddressRules, resolve: Resolver = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) callback(error, '');
      else if (!addresses.every(({ address }) => isAddressAllowed(address, rules))) {
        callback(new AddressNotAllowed(), '');
      } else if (options.all === true) callback(null, addresses);
      else callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
    });
  };
}
