import { generateKeyPairSync } from 'node:crypto';

/** Returns a key in the form that Apple issues. */
export function newApnsKey(): string {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
}

/** Returns a key in the form that Google issues for service accounts. */
export function newAccountKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}
