import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Caller, makeUser, openDevice, startServerProcess, type TestDevice } from '@tidemark/testing/kit';
import { logIn, startTestServer } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';

const MIB = 2 ** 20;
const TUS = { 'tus-resumable': '1.0.0' };
const PIECE = { ...TUS, 'content-type': 'application/offset+octet-stream' };

/** Bytes that repeat at no boundary of pieces, with their hash. */
function madeFile(size: number) {
  const bytes = Buffer.alloc(size, Array.from({ length: 1_009 }, (_, index) => index.toString(36)).join('-'));
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

type MadeFile = ReturnType<typeof madeFile>;

async function begin({ api }: TestDevice, { sha256, bytes }: MadeFile): Promise<void> {
  const metadata = `sha256 ${Buffer.from(sha256).toString('base64')}`;
  const headers = { ...TUS, 'upload-length': String(bytes.length), 'upload-metadata': metadata };
  expect((await api.send({ method: 'POST', path: '/sync/v1/files', headers, body: null })).status).toBe(201);
}

async function append({ api }: TestDevice, { sha256 }: MadeFile, offset: number, body: Buffer): Promise<number> {
  const headers = { ...PIECE, 'upload-offset': String(offset) };
  const path = `/sync/v1/files/uploads/${sha256}`;
  return (await api.send({ method: 'PATCH', path, headers, body })).status;
}

async function offsetOf({ api }: TestDevice, { sha256 }: MadeFile): Promise<number> {
  const path = `/sync/v1/files/uploads/${sha256}`;
  const answer = await api.send({ method: 'HEAD', path, headers: TUS, body: null });
  expect(answer.status).toBe(200);
  return Number(answer.headers['upload-offset']);
}

/** A call of a device whose body and answer are moved by hand. */
function openCall(url: string, { session }: TestDevice, method: string, headers: Record<string, string> = {}) {
  const call = request(url, { method, headers: { 'x-sync-api-token': session.token, ...headers } });
  onTestFinished(() => void call.destroy());
  return call;
}

async function answerOf(call: ClientRequest): Promise<IncomingMessage> {
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  return answer;
}

/** Resolves when nothing comes any more, also after an error. */
function closed(call: ClientRequest | IncomingMessage): Promise<void> {
  call.on('error', () => undefined);
  return new Promise((resolve) => call.once('close', resolve));
}

it('[FILES-70] a server that is killed while pieces arrive has lost nothing that it acknowledged, and the upload goes on', async () => {
  const server = await startServerProcess();
  onTestFinished(async () => void (await server.stop()));
  const admin = { url: server.url, token: await logIn(server.url) };
  await makeUser(admin, 'boat');
  const boat = await openDevice(server, 'boat');
  const file = madeFile(8 * MIB);
  await begin(boat, file);
  expect(await append(boat, file, 0, file.bytes.subarray(0, MIB))).toBe(204);
  const rest = file.bytes.subarray(MIB);
  const headers = { ...PIECE, 'upload-offset': String(MIB), 'content-length': String(rest.length) };
  const call = openCall(`${server.url}/sync/v1/files/uploads/${file.sha256}`, boat, 'PATCH', headers);
  const broken = closed(call);
  await new Promise((resolve) => call.write(rest.subarray(0, 2 * MIB), resolve));
  await server.kill();
  await broken;
  await server.start();
  const offset = await offsetOf(boat, file);
  expect([offset >= MIB, offset <= 3 * MIB]).toEqual([true, true]);
  expect(await append(boat, file, offset, file.bytes.subarray(offset))).toBe(204);
  await server.kill();
  await server.start();
  const photo = { $file: { sha256: file.sha256, size: file.bytes.length, type: 'image/jpeg' } };
  const changes = [{ op_id: 'op-1', source: 'Photo', op: 'create', id: '1', attributes: { photo } }];
  const api = new Caller(server.url, admin.token);
  await api.post('/rc/v1/sources', { name: 'Photo', partition_type: 'user' });
  await boat.api.post('/sync/v1/push', { client_id: boat.id, changes });
  const answer = await fetch(`${server.url}/sync/v1/files/${file.sha256}`, {
    headers: { 'x-sync-api-token': boat.session.token },
  });
  expect(Buffer.from(await answer.arrayBuffer()).equals(file.bytes)).toBe(true);
});

it('[FILES-71] who may not read a file any more gets no end of it, also when the download is under way', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const admin = new Caller(server.url, server.token);
  await makeUser(server, 'boat');
  const boat = await openDevice(server, 'boat');
  // More than the buffers of both ends hold, so that the server has to wait for its reader.
  const { bytes, sha256 } = madeFile(40 * MIB);
  await admin.post('/rc/v1/sources', { name: 'Photo', partition_type: 'group' });
  await admin.send({ method: 'PUT', path: `/rc/v1/files/${sha256}`, headers: {}, body: bytes });
  const photo = { $file: { sha256, size: bytes.length, type: 'image/jpeg' } };
  await admin.post('/app/v1/Photo/push_objects', { group: 'north', objects: { 1: { photo } } });
  await admin.put('/rc/v1/users/boat/groups', { groups: ['north'] });
  const call = openCall(`${server.url}/sync/v1/files/${sha256}`, boat, 'GET');
  call.end();
  const answer = await answerOf(call);
  expect([answer.statusCode, answer.headers['content-length']]).toEqual([200, String(bytes.length)]);
  expect((await admin.put('/rc/v1/users/boat/groups', { groups: [] })).status).toBe(200);
  let received = 0;
  answer.on('data', (chunk: Buffer) => {
    received += chunk.length;
  });
  await closed(answer);
  expect([answer.complete, received < bytes.length]).toEqual([false, true]);
  expect((await boat.api.get(`/sync/v1/files/${sha256}`)).code).toBe('file_not_found');
});

it('[FILES-72] a file whose reference is removed during its upload arrives, and is nobody’s until it is collected', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const admin = new Caller(server.url, server.token);
  await makeUser(server, 'boat');
  const boat = await openDevice(server, 'boat');
  await admin.post('/rc/v1/sources', { name: 'Photo', partition_type: 'user' });
  const file = madeFile(1_000);
  const photo = { $file: { sha256: file.sha256, size: file.bytes.length, type: 'image/jpeg' } };
  const push = (change: Record<string, unknown>) =>
    boat.api.post('/sync/v1/push', { client_id: boat.id, changes: [{ source: 'Photo', id: '1', ...change }] });
  await push({ op_id: 'op-1', op: 'create', attributes: { photo } });
  await begin(boat, file);
  expect(await append(boat, file, 0, file.bytes.subarray(0, 500))).toBe(204);
  await push({ op_id: 'op-2', op: 'delete' });
  expect(await append(boat, file, 500, file.bytes.subarray(500))).toBe(204);
  expect((await boat.api.get(`/sync/v1/files/${file.sha256}`)).code).toBe('file_not_found');
  const { body } = await admin.get(`/rc/v1/files/${file.sha256}/facts`);
  expect(body).toMatchObject({ is_stored: true, references: 0, missing_since: null });
  expect((await admin.get(`/rc/v1/files/${file.sha256}/objects`)).body).toMatchObject({ objects: [] });
});
