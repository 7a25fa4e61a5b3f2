import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import type { Passwords } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { HASHES_AT_ONCE_MAX, HASHES_WAITING_MAX } from '../limits.ts';
import { ConcurrencyLimit } from '../primitives/concurrency-limit.ts';

const RETRY_AFTER_S = 2;

/** The minimum that OWASP recommends for argon2id. */
const ARGON2ID = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** The same for scrypt, with 16 MiB per hash; `MAXMEM` is the bound of Node.js. */
const SCRYPT = { logN: 14, r: 8, p: 5 } as const;
const SCRYPT_LOG_N_MAX = 20;
const SCRYPT_MAXMEM_BYTES = 256 * 1_024 * 1_024;
const SALT_BYTES = 16;
const KEY_BYTES = 32;
const SCRYPT_TEXT = /^\$scrypt\$ln=([0-9]{1,2}),r=([0-9]{1,2}),p=([0-9]{1,2})\$([\w-]{22})\$([\w-]{43})$/;

const ARGON2ID_TEXT = /^\$argon2id\$v=19\$m=([0-9]{1,9}),t=([0-9]{1,9}),p=/;

type Argon2 = Pick<typeof import('@node-rs/argon2'), 'hash' | 'verify'>;

export interface PasswordsOptions {
  /** Null: the native module is treated as missing, and scrypt is used. Absent: the module is looked for. */
  readonly argon2?: Argon2 | null;
  readonly atOnceMax?: number;
  readonly waitingMax?: number;
}

/**
 * Hashes passwords by argon2id, or by scrypt if the native module does not exist for the platform. The hash names its
 * algorithm, and both kinds are verified.
 */
export async function openPasswords(options: PasswordsOptions = {}): Promise<Passwords> {
  const argon2 = options.argon2 === undefined ? await findArgon2() : options.argon2;
  const { atOnceMax = HASHES_AT_ONCE_MAX, waitingMax = HASHES_WAITING_MAX } = options;
  const refusal = () => new Refusal('overloaded', 'too many passwords are being checked at once', [], RETRY_AFTER_S);
  const limit = new ConcurrencyLimit({ atOnceMax, waitingMax, refusal });
  return {
    hash: (password) => limit.run(() => (argon2 === null ? hashByScrypt(password) : argon2.hash(password, ARGON2ID))),
    verify: (password, hash) => limit.run(() => verify(argon2, password, hash)),
    isOutdated: (hash) => (argon2 === null ? isWeakScrypt(hash) : isWeakArgon2(hash)),
  };
}

/** True if the hash is not argon2id, or uses weaker parameters. Stronger hashes are kept. */
function isWeakArgon2(hash: string): boolean {
  const [, memoryCost = 0, timeCost = 0] = (ARGON2ID_TEXT.exec(hash) ?? []).map(Number);
  return memoryCost < ARGON2ID.memoryCost || timeCost < ARGON2ID.timeCost;
}

function isWeakScrypt(hash: string): boolean {
  const [, logN = 0, r = 0, p = 0] = (SCRYPT_TEXT.exec(hash) ?? []).map(Number);
  return logN < SCRYPT.logN || r < SCRYPT.r || p < SCRYPT.p;
}

async function findArgon2(): Promise<Argon2 | null> {
  try {
    return await import('@node-rs/argon2');
  } catch {
    return null;
  }
}

/** An unreadable hash is an error in the data, not a wrong password. */
async function verify(argon2: Argon2 | null, password: string, hash: string): Promise<boolean> {
  if (hash.startsWith('$scrypt$')) return verifyByScrypt(password, hash);
  if (!hash.startsWith('$argon2id$')) throw new Error('a password hash has a format this version does not know');
  if (argon2 === null) throw new Error('a password was hashed by argon2id, whose native module is missing here');
  return argon2.verify(hash, password);
}

async function hashByScrypt(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, salt, SCRYPT);
  const { logN, r, p } = SCRYPT;
  return `$scrypt$ln=${logN},r=${r},p=${p}$${salt.toString('base64url')}$${key.toString('base64url')}`;
}

async function verifyByScrypt(password: string, hash: string): Promise<boolean> {
  const [, logN, r, p, salt = '', key = ''] = SCRYPT_TEXT.exec(hash) ?? [];
  const cost = { logN: Number(logN), r: Number(r), p: Number(p) };
  if (!(cost.logN >= 1 && cost.logN <= SCRYPT_LOG_N_MAX)) throw new Error('a scrypt hash is damaged');
  const derived = await derive(password, Buffer.from(salt, 'base64url'), cost);
  return timingSafeEqual(derived, Buffer.from(key, 'base64url'));
}

interface ScryptCost {
  readonly logN: number;
  readonly r: number;
  readonly p: number;
}

function derive(password: string, salt: Buffer, { logN, r, p }: ScryptCost): Promise<Buffer> {
  const options = { N: 2 ** logN, r, p, maxmem: SCRYPT_MAXMEM_BYTES };
  return new Promise((resolve, reject) => {
    scrypt(password, salt, KEY_BYTES, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}
