import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Caller, makeUser, openDevice, type Reply } from '@tidemark/testing/kit';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLog } from '../logging/open-log.ts';

let server: TestServer;
let api: Caller;
const logged: string[] = [];

beforeAll(async () => {
  const stream = { write: (line: string) => void logged.push(line) };
  server = await startTestServer({}, openLog({ level: 'warn', format: 'json', stream }));
  api = new Caller(server.url, server.token);
});

afterAll(() => server.close());

const sha256Of = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');
const FILES = '/rc/v1/files';

interface Sending {
  readonly path?: string;
  readonly type?: string;
  readonly token?: string;
}

function send(method: 'PUT' | 'POST', bytes: Buffer, { path = FILES, type, token = server.token }: Sending) {
  const headers = { ...(type === undefined ? {} : { 'content-type': type }) };
  return new Caller(server.url, token).send({ method, path, headers, body: bytes });
}

const put = (bytes: Buffer, sending: Sending = {}) =>
  send('PUT', bytes, { path: `${FILES}/${sha256Of(bytes)}`, ...sending });
const add = (bytes: Buffer, sending: Sending = {}) => send('POST', bytes, sending);
const get = (path: string, headers: Record<string, string> = {}) => api.get(`${FILES}${path}`, headers);

const codeOf = ({ status, code }: Reply) => [status, code];

describe('files of backends', () => {
  it('[FILES-58] a file is stored under its hash, and the answer is the reference for an object', async () => {
    const bytes = Buffer.from('known before');
    const reply = await put(bytes, { type: 'text/plain', path: `${FILES}/${sha256Of(bytes)}?name=note.txt` });
    const reference = { sha256: sha256Of(bytes), size: 12, type: 'text/plain', name: 'note.txt' };
    expect([reply.status, reply.body]).toEqual([200, { $file: reference }]);
    expect((await get(`/${sha256Of(bytes)}`)).text).toBe('known before');
    expect((await put(bytes, { type: 'text/plain' })).body).toEqual({ $file: { ...reference, name: undefined } });
  });

  it('[FILES-58] a file whose hash the backend does not know is stored under the hash of its bytes', async () => {
    const bytes = Buffer.from('hashed by the server');
    const reply = await add(bytes);
    const reference = { sha256: sha256Of(bytes), size: bytes.length, type: 'application/octet-stream' };
    expect([reply.status, reply.body]).toEqual([200, { $file: reference }]);
    expect((await add(Buffer.alloc(0))).body).toMatchObject({ $file: { sha256: sha256Of(''), size: 0 } });
    expect((await get(`/${reference.sha256}`)).text).toBe('hashed by the server');
  });

  it('[FILES-58] bytes with another hash get file_hash_mismatch, and nothing of them stays', async () => {
    const reply = await put(Buffer.from('different'), { path: `${FILES}/${sha256Of('announced')}` });
    expect(codeOf(reply)).toEqual([422, 'file_hash_mismatch']);
    for (const text of ['different', 'announced']) expect((await get(`/${sha256Of(text)}`)).status).toBe(404);
  });

  it('[FILES-58] what a call announces is checked before its bytes are taken', async () => {
    const bytes = Buffer.from('refused');
    expect((await put(bytes, { path: `${FILES}/no-hash` })).code).toBe('invalid_value');
    expect((await put(bytes, { path: `${FILES}/${sha256Of(bytes)}?name=a%2Fb` })).code).toBe('invalid_value');
    expect((await add(bytes, { path: `${FILES}?surprise=1` })).code).toBe('invalid_request');
    expect((await get(`/${sha256Of(bytes)}`)).status).toBe(404);
  });

  it('[FILES-58] storing needs the scope push, downloading and listing the scope read', async () => {
    const tokenWith = async (scope: string) => {
      const made = await api.post('/rc/v1/tokens', { name: scope, scopes: [scope] });
      return (made.body as { readonly token: string }).token;
    };
    const [push, read] = [await tokenWith('push'), await tokenWith('read')];
    const bytes = Buffer.from('scopes');
    expect((await put(bytes, { token: read })).code).toBe('forbidden');
    expect((await put(bytes, { token: push })).status).toBe(200);
    const statusOf = async (token: string, path: string) => (await new Caller(server.url, token).get(path)).status;
    expect(await statusOf(push, `${FILES}/${sha256Of(bytes)}`)).toBe(403);
    expect(await statusOf(read, `${FILES}/${sha256Of(bytes)}`)).toBe(200);
    expect([await statusOf(push, FILES), await statusOf(read, FILES)]).toEqual([403, 200]);
  });

  it('[FILES-59] a part of a file is sent for a range, and 304 for its ETag', async () => {
    const bytes = Buffer.from('0123456789'.repeat(100));
    const path = `/${sha256Of(bytes)}`;
    await put(bytes);
    const part = await get(path, { range: 'bytes=10-12' });
    expect([part.status, part.text, part.headers['content-range']]).toEqual([206, '012', 'bytes 10-12/1000']);
    const { headers } = await get(path);
    expect((await get(path, { 'if-none-match': String(headers.etag) })).status).toBe(304);
    const head = await api.send({ method: 'HEAD', path: `${FILES}${path}`, headers: {}, body: null });
    expect([head.status, head.headers['content-length'], head.text]).toEqual([200, '1000', '']);
  });

  it('[FILES-56] a download over REST is never a page of ours', async () => {
    const bytes = Buffer.from('<html><script>alert(1)</script></html>');
    await put(bytes, { type: 'text/html' });
    expect((await get(`/${sha256Of(bytes)}`)).headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
    });
  });
});

describe('what is known of files', () => {
  it('[FILES-60] files are listed page by page', async () => {
    for (let n = 0; n < 5; n++) await add(Buffer.from(`listed ${n}`));
    const listed: string[] = [];
    for (let after = ''; ; ) {
      const page = await get(`?limit=3${after}`);
      const { files, next } = page.body as { files: readonly { sha256: string }[]; next: string | null };
      expect(files.length).toBeLessThanOrEqual(3);
      listed.push(...files.map(({ sha256 }) => sha256));
      if (next === null) break;
      after = `&after=${encodeURIComponent(next)}`;
    }
    expect(listed).toEqual([...new Set(listed)]);
    for (let n = 0; n < 5; n++) expect(listed).toContain(sha256Of(`listed ${n}`));
  });

  it('[FILES-60] at most one filter chooses files', async () => {
    const reply = await get('?source=Photo&state=missing');
    expect(codeOf(reply)).toEqual([422, 'invalid_value']);
  });

  it('[FILES-78] what is still only on a device is known with device, user and since when, until its bytes arrive', async () => {
    await makeUser(server, 'boat');
    const boat = await openDevice(server, 'boat');
    await api.post('/rc/v1/sources', { name: 'Photo', partition_type: 'user' });
    const bytes = Buffer.from('still on the boat');
    const reference = { sha256: sha256Of(bytes), size: bytes.length, type: 'image/jpeg', name: 'bow.jpg' };
    const created = { op_id: '1', source: 'Photo', op: 'create', id: '1', attributes: { photo: { $file: reference } } };
    await boat.api.post('/sync/v1/push', { client_id: boat.id, changes: [created] });
    const listOfBoat = async () => (await api.get(`/rc/v1/clients/${boat.id}/files`)).body;
    const usage = async () => (await get('/usage')).body;
    const missing = {
      ...{ ...reference, is_stored: false, stored_at: null, references: 1, senders: [] },
      missing_since: expect.stringMatching(/^20.*Z$/),
      devices: [{ user_id: 'boat', client_id: boat.id }],
    };
    expect((await get(`/${reference.sha256}/facts`)).body).toEqual(missing);
    expect(await listOfBoat()).toEqual({ files: [missing], is_whole: true });
    const { quotaBytes: quota_bytes, sizeMax: size_max } = server.config.files;
    const { oldest_missing_since, ...counts } = (await usage()) as Record<string, unknown>;
    expect(counts).toMatchObject({ missing: 1, quota_bytes, size_max });
    expect(oldest_missing_since).toMatch(/^20.*Z$/);
    await put(bytes);
    const stored = { is_stored: true, missing_since: null, senders: [null], devices: [] };
    expect((await get(`/${reference.sha256}/facts`)).body).toMatchObject(stored);
    expect(await listOfBoat()).toEqual({ files: [], is_whole: true });
    expect(await usage()).toMatchObject({ missing: 0, oldest_missing_since: null });
  });

  it('[FILES-78] what is known of an unknown file or device is a refusal', async () => {
    expect(codeOf(await get(`/${sha256Of('nobody knows')}/facts`))).toEqual([404, 'file_not_found']);
    expect(codeOf(await get('/no-hash/facts'))).toEqual([422, 'invalid_value']);
    expect(codeOf(await api.get('/rc/v1/clients/nobody/files'))).toEqual([404, 'client_not_found']);
  });

  it('[FILES-61] a file that was damaged or removed is found when it is verified, and the check is audited', async () => {
    const verify = async (sha256: string) => api.post(`${FILES}/${sha256}/verify`, {});
    const sha256 = sha256Of('precious');
    await put(Buffer.from('precious'));
    expect((await verify(sha256)).body).toMatchObject({ sha256, size: 8, is_intact: true, problem: null });
    const stored = join(server.config.dataFolder, 'files', 'files', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
    await writeFile(stored, 'pretious');
    expect((await verify(sha256)).body).toMatchObject({ is_intact: false, problem: 'damaged' });
    expect(existsSync(stored)).toBe(false);
    expect((await verify(sha256)).code).toBe('file_not_found');
    await put(Buffer.from('precious'));
    expect((await verify(sha256)).body).toMatchObject({ is_intact: true, problem: null });
    await rm(stored);
    expect((await verify(sha256)).body).toMatchObject({ is_intact: false, problem: 'missing', size: 8 });
    expect((await verify(sha256)).code).toBe('file_not_found');
    const found = logged.map((line) => JSON.parse(line)).filter(({ event }) => event === 'file_damaged');
    expect(found).toEqual([
      { level: 'warn', time: expect.any(String), event: 'file_damaged', sha256, problem: 'damaged' },
      { level: 'warn', time: expect.any(String), event: 'file_damaged', sha256, problem: 'missing' },
    ]);
    const { facts } = (await api.get(`/rc/v1/audit/search?about=${sha256}`)).body as {
      readonly facts: readonly object[];
    };
    expect(facts).toMatchObject(
      ['file_not_found', 'missing', 'ok', 'file_not_found', 'damaged', 'ok'].map((result) => {
        return { action: 'file.verify', result, subject: { name: sha256 } };
      }),
    );
  });
});
