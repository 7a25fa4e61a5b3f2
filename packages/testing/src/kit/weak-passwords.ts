import { scrypt, timingSafeEqual } from 'node:crypto';
import type { Passwords, Random } from '@tidemark/core';

/** The lowest cost that scrypt accepts: a hash takes microseconds. */
const COST = { N: 2, r: 1, p: 1 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const KIND = 'weak-scrypt';

/**
 * Returns real salted hashes at a cost that protects nobody, so that tests with many logins stay fast. A hash of an
 * earlier generation is outdated, but still verifies.
 */
export function weakPasswords(random: Random, generation = 1): Passwords {
  const prefix = `${KIND}-${generation}`;
  return {
    isOutdated: (hash) => Number(hash.split('$')[0]?.split('-').at(-1)) < generation,
    async hash(password) {
      const salt = Buffer.from(random.bytes(SALT_BYTES));
      return [prefix, salt.toString('base64url'), (await derive(password, salt)).toString('base64url')].join('$');
    },
    async verify(password, hash) {
      const [made, salt, expected] = hash.split('$');
      if (made?.startsWith(KIND) !== true || salt === undefined || expected === undefined)
        throw new Error('not a hash of this kit');
      const given = await derive(password, Buffer.from(salt, 'base64url'));
      return timingSafeEqual(given, Buffer.from(expected, 'base64url'));
    },
  };
}

function derive(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, HASH_BYTES, COST, (error, hash) => (error === null ? resolve(hash) : reject(error)));
  });
}
