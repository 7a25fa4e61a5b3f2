import { createHash } from 'node:crypto';
import { answerJson, type FakeBackend, openFakeBackend } from '@tidemark/testing';
import { Caller, makeUser, openDevice, type TestDevice } from '@tidemark/testing/kit';
import { startTestServer, type TestServer, testConfig } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FILE_LINK_S } from '../limits.ts';
import { FileLinks } from './file-links.ts';

const SHA256 = createHash('sha256').update('a photo').digest('hex');
const SECRET = 'whsec_dGhlIHNlY3JldCBvZiB0aGlzIHRlc3QgaXMgaGVyZQ==';
const OTHER = createHash('sha256').update('another photo').digest('hex');
const referTo = (sha256: string) => ({ $file: { sha256, size: 7, type: 'text/plain' } });

describe('links to files', () => {
  let nowMs = 1_000_000_000_000;
  const linksOf = (secret: string) =>
    new FileLinks({ secret: async () => secret, serverUrl: () => 'https://sync.example/', nowMs: () => nowMs });
  const links = linksOf('whsec_ours');

  async function linkQuery(): Promise<{ expires: string; signature: string }> {
    const made = await links.linksFor({ photo: referTo(SHA256) });
    const { searchParams, pathname } = new URL(made?.[SHA256]?.url ?? '');
    expect(pathname).toBe(`/files/${SHA256}`);
    return { expires: searchParams.get('expires') ?? '', signature: searchParams.get('signature') ?? '' };
  }

  it('[FILES-69] attributes get a link to each file that they refer to, also inside of lists, and others none', async () => {
    const made = await links.linksFor({ photos: [referTo(SHA256), { more: referTo(OTHER) }], first: referTo(SHA256) });
    expect(Object.keys(made ?? {})).toEqual([SHA256, OTHER]);
    expect(await links.linksFor({ name: 'Gull', $file: 'a name like any other' })).toBeNull();
  });

  it('[FILES-69] a link is valid for its file, until it expires, and with its signature alone', async () => {
    const query = await linkQuery();
    expect(await links.isValid(SHA256, query)).toBe(true);
    expect(await links.isValid(OTHER, query)).toBe(false);
    expect(await links.isValid(SHA256, { ...query, expires: String(Number(query.expires) + 1) })).toBe(false);
    expect(
      await links.isValid(SHA256, { ...query, signature: `A${query.signature.slice(1)}`.replace(/^AA/, 'B') }),
    ).toBe(false);
    for (const wrong of [
      {},
      { expires: query.expires },
      { ...query, signature: 'short' },
      { ...query, expires: '1e9' },
    ]) {
      expect(await links.isValid(SHA256, wrong)).toBe(false);
    }
    expect(await linksOf('whsec_theirs').isValid(SHA256, query)).toBe(false);
    nowMs += FILE_LINK_S * 1_000 - 1;
    expect(await links.isValid(SHA256, query)).toBe(true);
    nowMs += 1;
    expect(await links.isValid(SHA256, query)).toBe(false);
  });
});

describe('calls to a backend', () => {
  let server: TestServer;
  let backend: FakeBackend;

  beforeAll(async () => {
    backend = await openFakeBackend(() => 'unused');
    server = await startTestServer({ backend: { ...testConfig('').backend, secret: SECRET } });
  });

  afterAll(async () => {
    await server.close();
    await backend.close();
  });

  it('[FILES-69] a call about an object with a file carries a link, which has the bytes when they have arrived', async () => {
    const api = new Caller(server.url, server.token);
    await api.post('/rc/v1/system/appserver', { adapter_url: backend.url });
    await api.post('/rc/v1/sources', { name: 'Inspection', partition_type: 'user', adapter: 'backend' });
    await makeUser(server, 'boat');
    backend.on('authenticate', (_request, response) => response.writeHead(501).end());
    const boat = await openDevice(server, 'boat');
    backend.on('create', (_request, response) => answerJson(response, { id: '17' }));
    const attributes = { note: 'bow', photo: referTo(SHA256) };
    const change = { op_id: 'op-1', source: 'Inspection', op: 'create', id: 'tmp-1', attributes };
    const pushed = await boat.api.post('/sync/v1/push', { client_id: boat.id, changes: [change] });
    expect([pushed.text.includes('"queued"'), backend.callsOf('create')]).toEqual([true, []]);
    await upload(boat, 'a photo');
    await expect.poll(() => backend.callsOf('create').length, { timeout: 60_000 }).toBe(1);
    const [call] = backend.callsOf('create');
    const files = (call?.body.files ?? {}) as Readonly<Record<string, { readonly url: string }>>;
    const url = files[SHA256]?.url ?? '';
    expect(Object.keys(files)).toEqual([SHA256]);
    const answer = await fetch(url, { headers: { range: 'bytes=2-' } });
    expect([answer.status, await answer.text()]).toEqual([206, 'photo']);
    const safe = ['x-content-type-options', 'content-security-policy', 'content-disposition', 'content-type'];
    expect(safe.map((name) => answer.headers.get(name))).toEqual([
      'nosniff',
      "sandbox; default-src 'none'",
      'attachment',
      'application/octet-stream',
    ]);
    const changed = await fetch(url.replace(/expires=\d/, 'expires=9'));
    expect([changed.status, ((await changed.json()) as { readonly code: string }).code]).toEqual([403, 'forbidden']);
    expect((await api.get('/rc/v1/audit')).text).not.toContain('/files/');
  });

  it('[FILES-79] a link that was made before the bytes came answers that there is no such file until then', async () => {
    const links = new FileLinks({ secret: async () => SECRET, serverUrl: () => server.url, nowMs: Date.now });
    const made = await links.linksFor({ photo: referTo(OTHER) });
    const answer = await fetch(made?.[OTHER]?.url ?? '');
    expect([answer.status, ((await answer.json()) as { readonly code: string }).code]).toEqual([404, 'file_not_found']);
  });
});

/** Uploads a text as a file. */
async function upload({ api }: TestDevice, text: string): Promise<void> {
  const tus = { 'tus-resumable': '1.0.0' };
  const sha256 = createHash('sha256').update(text).digest('hex');
  const metadata = `sha256 ${Buffer.from(sha256).toString('base64')}`;
  const begin = { ...tus, 'upload-length': String(text.length), 'upload-metadata': metadata };
  const path = '/sync/v1/files';
  expect((await api.send({ method: 'POST', path, headers: begin, body: null })).status).toBe(201);
  const headers = { ...tus, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
  const body = Buffer.from(text);
  expect((await api.send({ method: 'PATCH', path: `${path}/uploads/${sha256}`, headers, body })).status).toBe(204);
}
