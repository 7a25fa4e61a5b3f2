import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';

const KEY_BYTES = 32;
const SALT_BYTES = 16;

export function hashPassword(password: string): string {
  const salt = randomBytes(SALT_BYTES);
  return `${salt.toString('base64')}.${scryptSync(password, salt, KEY_BYTES).toString('base64')}`;
}

export function isPassword(password: string, hash: string): boolean {
  const [salt = '', key = ''] = hash.split('.').map((part) => Buffer.from(part, 'base64'));
  return timingSafeEqual(scryptSync(password, salt, KEY_BYTES), Buffer.from(key));
}
