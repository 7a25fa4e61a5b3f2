import { type KeyLike, verify } from 'node:crypto';

export interface Jwt {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Verifies without the library that signs, so that both must be right. Null: not a token, or not signed by the key. */
export function verifyJwt(token: string, key: KeyLike, alg: 'ES256' | 'RS256'): Jwt | null {
  const [head = '', body = '', signature = '', ...more] = token.split('.');
  if (more.length > 0 || signature === '') return null;
  try {
    const header = JSON.parse(Buffer.from(head, 'base64url').toString('utf8')) as Jwt['header'];
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as Jwt['claims'];
    const signed = Buffer.from(`${head}.${body}`);
    const options = alg === 'ES256' ? { key, dsaEncoding: 'ieee-p1363' as const } : { key };
    const isGenuine = verify('sha256', signed, options as never, Buffer.from(signature, 'base64url'));
    return isGenuine && header.alg === alg ? { header, claims } : null;
  } catch {
    return null;
  }
}
