import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { type AddressClass, addressClass } from '@tidemark/core';

/** Finds the addresses of a host. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

export interface AddressRules {
  /** Refuses loopback and private addresses too. */
  readonly denyPrivate: boolean;
}

/** The host leads to an address that is never called. */
export class BlockedAddress extends Error {
  override readonly name = 'BlockedAddress';
  /** Where failures are told by their codes, this is what an operator reads. */
  readonly code = 'leads to an address that is not allowed';
  readonly host: string;
  readonly address: string;

  constructor(host: string, address: string) {
    super(`${host} leads to an address that is never called`);
    this.host = host;
    this.address = address;
  }
}

export const systemResolve: Resolve = (host) =>
  new Promise((resolve, reject) => {
    lookup(host, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error)));
  });

/**
 * Looks hosts up for whoever makes a connection, and judges what comes out. The connection goes to the very addresses
 * judged here, so a name that is answered differently the next time gains nothing. One bad address among several is
 * enough: which of them would be tried is not ours to say.
 */
export function checkedLookup(resolve: Resolve, rules: AddressRules): LookupFunction {
  return (host, options, callback) => {
    resolve(host).then(
      (addresses) => {
        const [first] = addresses;
        const blocked = addresses.find(({ address }) => isBlocked(address, rules));
        if (blocked !== undefined) callback(new BlockedAddress(host, blocked.address), '');
        else if (first === undefined) callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '');
        else if (options.all === true) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}

/** A host that is an address itself is never looked up, so it is judged here. Null: nothing is in the way. */
export function blockedHost(url: URL, rules: AddressRules): BlockedAddress | null {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) !== 0 && isBlocked(host, rules) ? new BlockedAddress(host, host) : null;
}

function isBlocked(address: string, { denyPrivate }: AddressRules): boolean {
  const refused: readonly (AddressClass | null)[] = ['forbidden', null, ...(denyPrivate ? PRIVATE : [])];
  return refused.includes(addressClass(address));
}

const PRIVATE: readonly AddressClass[] = ['private', 'loopback'];
