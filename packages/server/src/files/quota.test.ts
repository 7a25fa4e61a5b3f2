import { createHash } from 'node:crypto';
import { Caller, makeUser, openDevice, startValkey, type TestDevice, temporaryFolder } from '@tidemark/testing/kit';
import { startTestServer, type TestServer, testConfig } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';

const SIZE = 100;
/** Room for so many uploads is left in the quota. */
const ROOM_FILES = 3;
const UPLOADS = 10;
const QUOTA_BYTES = UPLOADS * SIZE;
const TUS = { 'tus-resumable': '1.0.0' };

interface Photo {
  readonly bytes: Buffer;
  readonly sha256: string;
}

function photo(name: string, size = SIZE): Photo {
  const bytes = Buffer.from(name.padEnd(size, '.'));
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

const photos = Array.from({ length: UPLOADS }, (_, number) => photo(`photo ${number}`));
const album = photo('album', QUOTA_BYTES - ROOM_FILES * SIZE);

async function startServers(engine: 'embedded' | 'valkey'): Promise<readonly TestServer[]> {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.remove());
  const files = { ...testConfig('unused').files, folder: folder.path, quotaBytes: QUOTA_BYTES };
  const start = async (changes: Parameters<typeof startTestServer>[0]) => {
    const server = await startTestServer({ files, ...changes });
    onTestFinished(() => server.close());
    return server;
  };
  if (engine === 'embedded') return [await start({})];
  const valkey = await startValkey();
  onTestFinished(() => valkey.remove());
  return [await start({ store: valkey.address }), await start({ store: valkey.address })];
}

function begin({ api }: TestDevice, { sha256, bytes }: Photo) {
  const metadata = `sha256 ${Buffer.from(sha256).toString('base64')}`;
  const headers = { ...TUS, 'upload-length': String(bytes.length), 'upload-metadata': metadata };
  return api.send({ method: 'POST', path: '/sync/v1/files', headers, body: null });
}

function append({ api }: TestDevice, { sha256, bytes }: Photo, first: number, end: number) {
  const type = { 'content-type': 'application/offset+octet-stream' };
  const headers = { ...TUS, ...type, 'upload-offset': String(first) };
  const path = `/sync/v1/files/uploads/${sha256}`;
  return api.send({ method: 'PATCH', path, headers, body: bytes.subarray(first, end) });
}

it.each(['embedded', 'valkey'] as const)(
  '[FILES-32] of ten uploads of a user that end at the same moment, at all servers on one store, as many become files as the quota has room for (%s)',
  async (engine) => {
    const servers = await startServers(engine);
    const [first] = servers;
    if (first === undefined) throw new Error('there is no server');
    await makeUser(first, 'ada');
    const camera = await openDevice(first, 'ada');
    await begin(camera, album);
    expect((await append(camera, album, 0, album.bytes.length)).status).toBe(204);
    const uploads: { readonly device: TestDevice; readonly one: Photo }[] = [];
    for (const [number, one] of photos.entries()) {
      const device = await openDevice(servers[number % servers.length] ?? first, 'ada');
      expect((await begin(device, one)).status).toBe(201);
      expect((await append(device, one, 0, SIZE - 1)).status).toBe(204);
      uploads.push({ device, one });
    }
    const ends = await Promise.all(uploads.map(({ device, one }) => append(device, one, SIZE - 1, SIZE)));
    const codes = ends.map(({ status, code }) => code ?? status);
    expect(codes.filter((code) => code === 204).length).toBe(ROOM_FILES);
    expect(codes.filter((code) => code === 'quota_exceeded').length).toBe(UPLOADS - ROOM_FILES);
    const admin = new Caller(first.url, first.token);
    const { body } = await admin.get('/rc/v1/files/usage');
    expect(body).toMatchObject({ files: 1 + ROOM_FILES, bytes: QUOTA_BYTES });
    admin.close();
  },
);
