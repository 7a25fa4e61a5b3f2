import { generateKeyPairSync } from 'node:crypto';

/** A key as Apple hands them out. */
export function newApnsKey(): string {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
}

/** A key as Google hands them out for service accounts. */
export function newAccountKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}
