import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { type AddressClass, addressClass } from '@tidemark/core';

/** Resolves the addresses of a host. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

export interface AddressRules {
  /** True if loopback and private addresses are refused, too. */
  readonly denyPrivate: boolean;
}

/** The host resolves to an address that must not be called. */
export class BlockedAddress extends Error {
  override readonly name = 'BlockedAddress';
  /** Failures are reported by their code, so this is what an operator reads. */
  readonly code = 'resolves to an address that is not allowed';
  readonly host: string;
  readonly address: string;

  constructor(host: string, address: string) {
    super(`${host} resolves to an address that is not allowed`);
    this.host = host;
    this.address = address;
  }
}

export const systemResolve: Resolve = (host) =>
  new Promise((resolve, reject) => {
    lookup(host, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error)));
  });

/**
 * Resolves hosts for connections and checks the addresses. The connection uses exactly the addresses checked here, so
 * that a DNS answer that changes later gains nothing. One forbidden address is enough to refuse, since the system
 * chooses which one it tries.
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

/** Checks a host that is an IP address and is therefore never resolved. Returns null if it is allowed. */
export function blockedHost(url: URL, rules: AddressRules): BlockedAddress | null {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) !== 0 && isBlocked(host, rules) ? new BlockedAddress(host, host) : null;
}

function isBlocked(address: string, { denyPrivate }: AddressRules): boolean {
  const refused: readonly (AddressClass | null)[] = ['forbidden', null, ...(denyPrivate ? PRIVATE : [])];
  return refused.includes(addressClass(address));
}

const PRIVATE: readonly AddressClass[] = ['private', 'loopback'];
