import { createHash, randomBytes } from 'node:crypto';
import { Caller, makeUser, openDevice, type TestDevice } from '@tidemark/testing/kit';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { Upload, type UploadOptions } from 'tus-js-client';
import { afterAll, beforeAll, expect, it } from 'vitest';

let server: TestServer;
let boat: TestDevice;

beforeAll(async () => {
  server = await startTestServer();
  await makeUser(server, 'boat');
  boat = await openDevice(server, 'boat');
});

afterAll(() => server.close());

const PIECE = 300_000;

function optionsOf(bytes: Buffer): UploadOptions {
  return {
    endpoint: `${server.url}/sync/v1/files`,
    headers: { authorization: `Bearer ${boat.session.token}` },
    metadata: { sha256: createHash('sha256').update(bytes).digest('hex') },
    chunkSize: PIECE,
    retryDelays: [],
  };
}

/** Uploads bytes, and returns where the upload stood when `until` said that it was enough, or null: it is complete. */
function upload(bytes: Buffer, options: UploadOptions, until: (offset: number) => boolean = () => false) {
  return new Promise<string | null>((resolve, reject) => {
    const client = new Upload(bytes, {
      ...options,
      onSuccess: () => resolve(null),
      onError: reject,
      onChunkComplete: (_size, offset) => {
        if (until(offset)) void client.abort().then(() => resolve(client.url));
      },
    });
    client.start();
  });
}

it('[FILES-68] tus-js-client uploads a file unchanged, and goes on where another run of it ended', async () => {
  const bytes = randomBytes(1_000_000);
  const url = await upload(bytes, optionsOf(bytes), (offset) => offset >= 2 * PIECE);
  expect(url).toContain('/sync/v1/files/uploads/');
  expect(await upload(bytes, { ...optionsOf(bytes), uploadUrl: url })).toBeNull();
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const stored = await new Caller(server.url, server.token).get(`/rc/v1/files/${sha256}`);
  expect([stored.status, stored.headers['content-length']]).toEqual([200, String(bytes.length)]);
});

it('[FILES-68] tus-js-client is told why bytes with another hash are refused', async () => {
  const bytes = randomBytes(1_000);
  const options = { ...optionsOf(bytes), metadata: { sha256: 'ab'.repeat(32) } };
  await expect(upload(bytes, options)).rejects.toThrow('file_hash_mismatch');
});
