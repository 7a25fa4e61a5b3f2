import { createHash, createHmac, type Hmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import { expect, it } from 'vitest';
import { EMPTY_HASH, presignUrl, type Signer, sha256Hex, signHeaders, UNSIGNED } from './sign-v4.ts';

/** The examples of "Authenticating Requests (AWS Signature Version 4)" in the reference of Amazon S3, typed by hand. */
const EXAMPLE: Signer = {
  accessKey: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
};
const HOST = 'https://examplebucket.s3.amazonaws.com';
const nowMs = Date.UTC(2013, 4, 24);

interface Example {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload?: string;
  readonly signature: string;
}

const EXAMPLES: readonly Example[] = [
  {
    method: 'GET',
    path: '/test.txt',
    headers: { Range: 'bytes=0-9' },
    signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  },
  {
    method: 'PUT',
    path: '/test%24file.text',
    headers: { Date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
    payload: 'Welcome to Amazon S3.',
    signature: '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  },
  {
    method: 'GET',
    path: '/?lifecycle',
    signature: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  },
  {
    method: 'GET',
    path: '/?max-keys=2&prefix=J',
    signature: '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  },
];

const signatureIn = (text: string) => /Signature=([0-9a-f]{64})/.exec(text)?.[1];

function signed(signer: Signer, { method, url, headers = {}, payload = '' }: Sent) {
  const payloadHash = sha256Hex(payload);
  const all = { ...headers, 'x-amz-content-sha256': payloadHash };
  return signHeaders(signer, { method, url: new URL(url), headers: all, payloadHash, nowMs });
}

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload?: string;
}

it.each(EXAMPLES)('[FILES-64] the signature of $method $path is the published one', ({ path, signature, ...sent }) => {
  const { authorization = '' } = signed(EXAMPLE, { ...sent, url: `${HOST}${path}` });
  expect(signatureIn(authorization)).toBe(signature);
});

it('[FILES-64] the signature of a URL for everybody is the published one', () => {
  const url = presignUrl(EXAMPLE, new URL(`${HOST}/test.txt`), { expiresS: 86_400, nowMs });
  expect(signatureIn(url)).toBe('aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404');
  expect(EMPTY_HASH).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
});

/** The hash that the signer of the AWS SDK asks for. */
class NodeHash {
  readonly #hash: Hmac | ReturnType<typeof createHash>;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    const key = typeof secret === 'string' || secret === undefined ? secret : Buffer.from(bytesOf(secret));
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', key);
  }

  update(chunk: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(typeof chunk === 'string' ? chunk : Buffer.from(bytesOf(chunk)));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {}
}

function bytesOf(data: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

const OTHER: Signer = { accessKey: 'AK/ID+1', secretKey: 'secret/with+signs=', region: 'eu-central-2' };

/** The signer that the AWS SDK uses. */
const theirs = new SignatureV4({
  credentials: { accessKeyId: OTHER.accessKey, secretAccessKey: OTHER.secretKey },
  region: OTHER.region,
  service: 's3',
  sha256: NodeHash,
  uriEscapePath: false,
});

function requestOf({ method, url, headers = {}, payload = '' }: Sent) {
  const { protocol, hostname, port, host, pathname, searchParams } = new URL(url);
  return {
    ...{ method, protocol, hostname, path: pathname, query: Object.fromEntries(searchParams), body: payload },
    ...(port === '' ? {} : { port: Number(port) }),
    headers: { ...headers, host },
  };
}

const REQUESTS: readonly Sent[] = [
  { method: 'PUT', url: 'http://127.0.0.1:9000/bucket/files/ab', payload: 'bytes' },
  {
    method: 'GET',
    url: 'http://127.0.0.1:9000/bucket/?list-type=2&prefix=a%2Fb%26c%20d&start-after=%C3%9C%27%28%29%2A%21',
  },
  { method: 'POST', url: 'https://b.s3.eu-central-2.amazonaws.com/a%20b%2Bc?uploads=' },
  {
    method: 'PUT',
    url: 'https://storage.example/b/x?partNumber=1&uploadId=Ab%2F%2B',
    headers: { 'x-amz-copy-source': '/b/y%2Bz' },
  },
];

it.each(REQUESTS)('[FILES-64] the signature of $method $url is that of the AWS SDK', async (sent) => {
  const { headers } = await theirs.sign(requestOf(sent), { signingDate: new Date(nowMs) });
  expect(signatureIn(signed(OTHER, sent).authorization ?? '')).toBe(signatureIn(headers.authorization ?? ''));
});

it('[FILES-64] a URL for everybody has the signature of the AWS SDK', async () => {
  const url = 'http://127.0.0.1:9000/bucket/files/ab?response-content-disposition=inline%3B%20filename%3D%22a%20b%22';
  const request = {
    ...requestOf({ method: 'GET', url }),
    headers: { host: '127.0.0.1:9000', 'x-amz-content-sha256': UNSIGNED },
  };
  const { query = {} } = await theirs.presign(request, {
    signingDate: new Date(nowMs),
    expiresIn: 60,
    unhoistableHeaders: new Set(['x-amz-content-sha256']),
    unsignableHeaders: new Set(['x-amz-content-sha256']),
  });
  const ours = new URL(presignUrl(OTHER, new URL(url), { expiresS: 60, nowMs }));
  expect(ours.searchParams.get('X-Amz-Signature')).toBe(query['X-Amz-Signature']);
});
