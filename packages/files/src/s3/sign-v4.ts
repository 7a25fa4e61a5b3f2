import { createHash, createHmac } from 'node:crypto';

/** Signs requests to S3-compatible storage with AWS Signature Version 4. */
export interface Signer {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly region: string;
  /** `s3`, unless a test signs for another service. */
  readonly service?: string;
}

export interface SignedRequest {
  readonly method: string;
  readonly url: URL;
  /** All of them are signed, and `host` beside them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The SHA-256 of the body in hex, or `UNSIGNED-PAYLOAD`. */
  readonly payloadHash: string;
  readonly nowMs: number;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';
export const UNSIGNED = 'UNSIGNED-PAYLOAD';
export const EMPTY_HASH = sha256Hex('');

/** Returns the headers of a request with `Authorization` among them. */
export function signHeaders(signer: Signer, request: SignedRequest): Record<string, string> {
  const date = amzDate(request.nowMs);
  const headers = lowerCased({ ...request.headers, host: request.url.host, 'x-amz-date': date });
  const scope = scopeOf(signer, date);
  const signature = signatureOf(signer, { ...request, headers, date, scope });
  const credential = `Credential=${signer.accessKey}/${scope}`;
  const { host: _host, ...sent } = headers;
  return {
    ...sent,
    authorization: `${ALGORITHM} ${credential}, SignedHeaders=${namesOf(headers)}, Signature=${signature}`,
  };
}

/** Returns a URL that anybody may GET until it expires. */
export function presignUrl(signer: Signer, url: URL, { expiresS, nowMs }: { expiresS: number; nowMs: number }): string {
  const date = amzDate(nowMs);
  const scope = scopeOf(signer, date);
  const signed = new URL(url);
  const query = {
    'X-Amz-Algorithm': ALGORITHM,
    'X-Amz-Credential': `${signer.accessKey}/${scope}`,
    'X-Amz-Date': date,
    'X-Amz-Expires': String(expiresS),
    'X-Amz-SignedHeaders': 'host',
  };
  for (const [name, value] of Object.entries(query)) signed.searchParams.set(name, value);
  const headers = { host: url.host };
  const request = { method: 'GET', url: signed, headers, payloadHash: UNSIGNED, nowMs };
  const signature = signatureOf(signer, { ...request, date, scope });
  return `${signed.origin}${signed.pathname}?${canonicalQuery(signed)}&X-Amz-Signature=${signature}`;
}

interface Dated extends SignedRequest {
  readonly date: string;
  readonly scope: string;
}

function signatureOf({ secretKey, region, service = 's3' }: Signer, request: Dated): string {
  const { method, url, headers, payloadHash, date, scope } = request;
  const lines = Object.keys(headers)
    .sort()
    .map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}\n`);
  const canonical = [method, url.pathname, canonicalQuery(url), lines.join(''), namesOf(headers), payloadHash].join(
    '\n',
  );
  const toSign = [ALGORITHM, date, scope, sha256Hex(canonical)].join('\n');
  const parts = [date.slice(0, 8), region, service, 'aws4_request'];
  const key = parts.reduce<Buffer | string>((last, part) => hmac(last, part), `AWS4${secretKey}`);
  return hmac(key, toSign).toString('hex');
}

function namesOf(headers: Readonly<Record<string, string>>): string {
  return Object.keys(headers).sort().join(';');
}

function canonicalQuery(url: URL): string {
  const pairs = [...url.searchParams].map(([name, value]) => `${encodeRfc3986(name)}=${encodeRfc3986(value)}`);
  return pairs.sort().join('&');
}

/** Encodes everything but letters, digits and `-._~`, as S3 computes signatures. */
export function encodeRfc3986(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}

function scopeOf({ region, service = 's3' }: Signer, date: string): string {
  return `${date.slice(0, 8)}/${region}/${service}/aws4_request`;
}

function amzDate(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/[:-]|\.\d{3}/g, '');
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function hmac(key: Buffer | string, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

export function sha256Hex(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}
