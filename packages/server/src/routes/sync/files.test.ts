import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FILES_ASKED_MAX } from '@tidemark/protocol';
import { Caller, makeUser, openDevice, type Reply, type TestDevice } from '@tidemark/testing/kit';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let server: TestServer;
let admin: Caller;
let boat: TestDevice;
let other: TestDevice;

beforeAll(async () => {
  server = await startTestServer();
  await makeUser(server, 'boat');
  await makeUser(server, 'other');
  boat = await openDevice(server, 'boat');
  other = await openDevice(server, 'other');
  admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/sources', { name: 'Photo', partition_type: 'user' });
});

afterAll(async () => {
  admin.close();
  await server.close();
});

const sha256Of = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');
const TUS = { 'tus-resumable': '1.0.0' };

/** Bytes that no other test uploads. */
const newBytes = (text: string, length = 100) =>
  Buffer.from(text.repeat(Math.ceil(length / text.length)).slice(0, length));

function begin(device: TestDevice, sha256: string, size: number): Promise<Reply> {
  const metadata = `sha256 ${Buffer.from(sha256).toString('base64')},type ${Buffer.from('text/plain').toString('base64')}`;
  const headers = { ...TUS, 'upload-length': String(size), 'upload-metadata': metadata };
  return device.api.send({ method: 'POST', path: '/sync/v1/files', headers, body: null });
}

function append(device: TestDevice, sha256: string, offset: number, bytes: Buffer, more: Record<string, string> = {}) {
  const headers = {
    ...TUS,
    'content-type': 'application/offset+octet-stream',
    'upload-offset': String(offset),
    ...more,
  };
  return device.api.send({ method: 'PATCH', path: `/sync/v1/files/uploads/${sha256}`, headers, body: bytes });
}

const find = (device: TestDevice, sha256: string) =>
  device.api.send({ method: 'HEAD', path: `/sync/v1/files/uploads/${sha256}`, headers: TUS, body: null });

const drop = (device: TestDevice, sha256: string) =>
  device.api.send({ method: 'DELETE', path: `/sync/v1/files/uploads/${sha256}`, headers: TUS, body: null });

const download = (device: TestDevice, sha256: string, headers: Record<string, string> = {}) =>
  device.api.get(`/sync/v1/files/${sha256}`, headers);

async function upload(device: TestDevice, bytes: Buffer): Promise<string> {
  const sha256 = sha256Of(bytes);
  expect((await begin(device, sha256, bytes.length)).status).toBe(201);
  expect((await append(device, sha256, 0, bytes)).status).toBe(204);
  return sha256;
}

/** Uploads a file to which an object of the user refers. */
async function uploadReferred(bytes: Buffer): Promise<string> {
  const sha256 = await upload(boat, bytes);
  await refer(sha256, bytes.length);
  return sha256;
}

async function refer(sha256: string, size: number): Promise<void> {
  const photo = { $file: { sha256, size, type: 'text/plain' } };
  const body = { user_id: 'boat', objects: { [sha256]: { photo } } };
  expect((await admin.post('/app/v1/Photo/push_objects', body)).status).toBe(200);
}

describe('uploads of devices', () => {
  it('[FILES-50] a file is uploaded in pieces, and each answer says how much is durable', async () => {
    const bytes = newBytes('in pieces ', 1_000);
    const sha256 = sha256Of(bytes);
    const begun = await begin(boat, sha256, bytes.length);
    expect([begun.status, begun.headers['upload-offset'], begun.headers.location]).toEqual([
      201,
      '0',
      `/sync/v1/files/uploads/${sha256}`,
    ]);
    expect(Date.parse(String(begun.headers['upload-expires']))).toBeGreaterThan(Date.now());
    const first = await append(boat, sha256, 0, bytes.subarray(0, 400));
    expect([first.status, first.headers['upload-offset']]).toEqual([204, '400']);
    const found = await find(boat, sha256);
    expect([found.status, found.headers['upload-offset'], found.headers['upload-length']]).toEqual([
      200,
      '400',
      '1000',
    ]);
    expect((await begin(boat, sha256, bytes.length)).headers['upload-offset']).toBe('400');
    const last = await append(boat, sha256, 400, bytes.subarray(400));
    expect([last.status, last.headers['upload-offset']]).toEqual([204, '1000']);
    expect((await download(boat, sha256)).status).toBe(404);
    await refer(sha256, bytes.length);
    expect((await download(boat, sha256)).text).toBe(bytes.toString());
  });

  it('[FILES-50] an offset that equals the length means that the file is stored, also when it is asked for again', async () => {
    const sha256 = await upload(boat, newBytes('again '));
    for (const reply of [await find(boat, sha256), await begin(boat, sha256, 100)]) {
      expect(reply.headers['upload-offset']).toBe(reply.headers['upload-length']);
      expect(reply.headers['upload-expires']).toBeUndefined();
    }
  });

  it('[FILES-50] an empty file is stored by its creation', async () => {
    const sha256 = sha256Of('');
    expect((await begin(boat, sha256, 0)).headers['upload-offset']).toBe('0');
    await refer(sha256, 0);
    expect((await download(boat, sha256)).text).toBe('');
  });

  it('[FILES-51] bytes at another offset are refused with wrong_offset, and nothing changes', async () => {
    const bytes = newBytes('offset ');
    const sha256 = sha256Of(bytes);
    await begin(boat, sha256, 100);
    await append(boat, sha256, 0, bytes.subarray(0, 50));
    for (const offset of [0, 49, 51]) {
      const reply = await append(boat, sha256, offset, bytes.subarray(50));
      expect([reply.status, reply.code]).toEqual([409, 'wrong_offset']);
    }
    expect((await find(boat, sha256)).headers['upload-offset']).toBe('50');
  });

  it('[FILES-51] bytes with another hash than announced get file_hash_mismatch, and nothing of them stays', async () => {
    const sha256 = sha256Of('announced');
    await begin(boat, sha256, 9);
    const reply = await append(boat, sha256, 0, Buffer.from('different'));
    expect([reply.status, reply.code]).toEqual([422, 'file_hash_mismatch']);
    expect((await find(boat, sha256)).status).toBe(404);
    expect((await download(boat, sha256)).status).toBe(404);
  });

  it('[FILES-51] a piece with another checksum gets 460 checksum_mismatch, and the upload stays where it was', async () => {
    const bytes = newBytes('checksum ');
    const sha256 = sha256Of(bytes);
    await begin(boat, sha256, 100);
    const checksum = (algorithm: string) => ({
      'upload-checksum': `${algorithm} ${createHash(algorithm).update(bytes).digest('base64')}`,
    });
    const wrong = await append(boat, sha256, 0, newBytes('checks um '), checksum('sha1'));
    expect([wrong.status, wrong.code]).toEqual([460, 'checksum_mismatch']);
    expect((await find(boat, sha256)).headers['upload-offset']).toBe('0');
    expect((await append(boat, sha256, 0, bytes, checksum('sha256'))).status).toBe(204);
  });

  it('[FILES-52] an upload belongs to its device: others, also of the same user, find none', async () => {
    const sha256 = sha256Of(newBytes('mine '));
    await begin(boat, sha256, 100);
    const second = await openDevice(server, 'boat');
    for (const stranger of [other, second]) {
      expect((await find(stranger, sha256)).status).toBe(404);
      expect((await append(stranger, sha256, 0, newBytes('mine '))).code).toBe('upload_not_found');
      expect((await drop(stranger, sha256)).code).toBe('upload_not_found');
    }
    expect((await drop(boat, sha256)).status).toBe(204);
    expect((await find(boat, sha256)).status).toBe(404);
  });

  it('[FILES-52] an upload needs a token of a device and the version of tus that the server speaks', async () => {
    const path = '/sync/v1/files';
    for (const headers of [{}, { 'tus-resumable': '0.2.2' }]) {
      const refused = await boat.api.send({ method: 'POST', path, headers, body: null });
      expect([refused.status, refused.code, refused.headers['tus-version']]).toEqual([412, 'tus_version', '1.0.0']);
    }
    const stranger = await fetch(`${server.url}${path}`, { method: 'POST', headers: TUS });
    expect(stranger.status).toBe(401);
    const admin = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { ...TUS, authorization: `Bearer ${server.token}` },
    });
    expect(admin.status).toBe(403);
    const options = await fetch(`${server.url}${path}`, { method: 'OPTIONS' });
    expect([options.status, options.headers.get('tus-version'), options.headers.get('tus-extension')]).toEqual([
      204,
      '1.0.0',
      'creation,expiration,checksum,termination',
    ]);
  });

  it('[FILES-53] what an upload announces is checked before a byte is taken', async () => {
    const sha256 = sha256Of('limits');
    expect((await begin(boat, sha256, server.config.files.sizeMax + 1)).code).toBe('file_too_large');
    expect((await begin(boat, sha256, server.config.files.sizeMax)).status).toBe(201);
    expect((await begin(boat, 'no hash', 10)).code).toBe('invalid_value');
    expect((await begin(boat, sha256, -1)).code).toBe('invalid_value');
    const headers = { ...TUS, 'content-type': 'application/json', 'upload-offset': '0' };
    const path = `/sync/v1/files/uploads/${sha256}`;
    const json = await boat.api.send({ method: 'PATCH', path, headers, body: Buffer.from('{}') });
    expect(json.code).toBe('unsupported_media_type');
    await begin(boat, sha256, 5);
    expect((await append(boat, sha256, 0, Buffer.from('longer'))).code).toBe('file_too_large');
    expect((await drop(boat, sha256)).status).toBe(204);
  });
});

describe('downloads of devices', () => {
  it('[FILES-54] a part is sent for a range, the whole for none, and nothing for one behind the end', async () => {
    const bytes = newBytes('0123456789', 1_000);
    const sha256 = await uploadReferred(bytes);
    const whole = await download(boat, sha256);
    expect([whole.status, whole.headers['content-length'], whole.headers.etag]).toEqual([200, '1000', `"${sha256}"`]);
    for (const [range, first, last] of [
      ['bytes=0-0', 0, 0],
      ['bytes=990-', 990, 999],
      ['bytes=-5', 995, 999],
      ['bytes=-2000', 0, 999],
      ['bytes=500-2000', 500, 999],
    ] as const) {
      const part = await download(boat, sha256, { range });
      expect([part.status, part.headers['content-range']]).toEqual([206, `bytes ${first}-${last}/1000`]);
      expect(part.text).toBe(bytes.subarray(first, last + 1).toString());
    }
    expect((await download(boat, sha256, { range: 'bytes=1000-' })).code).toBe('range_not_satisfiable');
    expect((await download(boat, sha256, { range: 'bytes=0-1', 'if-range': '"another"' })).status).toBe(200);
    expect((await download(boat, sha256, { range: 'bytes=0-1', 'if-range': `"${sha256}"` })).status).toBe(206);
    expect((await download(boat, sha256, { 'if-none-match': `"${sha256}"` })).status).toBe(304);
  });

  it('[FILES-54] a range behind the end is answered with the size of the file', async () => {
    const sha256 = await uploadReferred(newBytes('how long is it ', 1_000));
    for (const range of ['bytes=1000-', 'bytes=5000-6000', 'bytes=-0']) {
      const { status, code, headers } = await download(boat, sha256, { range });
      expect([status, code, headers['content-range']]).toEqual([416, 'range_not_satisfiable', 'bytes */1000']);
    }
  });

  it('[FILES-54] a caller who names the tag of a file, also weak or among others, has it already', async () => {
    const bytes = newBytes('known already ');
    const sha256 = await uploadReferred(bytes);
    for (const named of [`"${sha256}"`, `W/"${sha256}"`, `"another", "${sha256}"`, '*']) {
      const { status, text } = await download(boat, sha256, { 'if-none-match': named, range: 'bytes=0-1' });
      expect([named, status, text]).toEqual([named, 304, '']);
    }
    expect((await download(boat, sha256, { 'if-none-match': '"another"' })).text).toBe(bytes.toString());
    expect((await download(boat, sha256, { 'if-range': `W/"${sha256}"`, range: 'bytes=0-1' })).status).toBe(200);
  });

  it('[FILES-55] a file that does not exist and one of others get the same answer', async () => {
    const sha256 = await uploadReferred(newBytes('secret '));
    const replies = [
      await download(other, sha256),
      await download(other, sha256, { 'if-none-match': `"${sha256}"` }),
      await download(other, sha256Of('nothing')),
      await download(other, 'x'),
    ];
    const told = replies.map(({ status, body }) => [status, { ...(body as object), request_id: '' }]);
    expect(new Set(told.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(replies[0]?.code).toBe('file_not_found');
  });

  it('[FILES-56] a stored page of HTML is downloaded, never shown, and a picture is shown', async () => {
    const page = await download(boat, await uploadReferred(Buffer.from('<html><script>alert(1)</script></html>')));
    expect(page.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'private, max-age=31536000, immutable',
    });
    const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), newBytes('picture ')]);
    const picture = await download(boat, await uploadReferred(png));
    expect(picture.headers).toMatchObject({ 'content-type': 'image/png', 'content-disposition': 'inline' });
    expect(picture.headers['content-security-policy']).toBe("sandbox; default-src 'none'");
  });

  it('[FILES-54] HEAD answers the headers of a download without its bytes', async () => {
    const sha256 = await uploadReferred(newBytes('head '));
    const path = `/sync/v1/files/${sha256}`;
    const reply = await boat.api.send({ method: 'HEAD', path, headers: {}, body: null });
    expect([reply.status, reply.headers['content-length'], reply.text]).toEqual([200, '100', '']);
  });
});

it('[FILES-100] a file whose bytes are gone is missing after a download, and its device sends it again', async () => {
  const bytes = newBytes('lost ');
  const sha256 = await uploadReferred(bytes);
  const lost = async (device: TestDevice, files: readonly string[]) => {
    const reply = await device.api.post('/sync/v1/files/lost', { files });
    return reply.status === 200 ? reply.body : reply.status;
  };
  expect(await lost(boat, [sha256])).toEqual({ files: [] });
  const [stored = ''] = (await readdir(server.folder, { recursive: true })).filter((name) => name.endsWith(sha256));
  await rm(join(server.folder, stored));
  expect((await download(boat, sha256)).status).toBe(404);
  expect(await lost(boat, [sha256, sha256Of('never seen')])).toEqual({ files: [sha256] });
  expect(await lost(other, [sha256])).toEqual({ files: [] });
  expect(await lost(boat, ['not a hash'])).toBe(400);
  const many = Array.from({ length: FILES_ASKED_MAX }, (_, n) => sha256Of(`file ${n}`));
  expect([await lost(boat, many), await lost(boat, [...many, sha256])]).toEqual([{ files: [] }, 400]);
  await upload(boat, bytes);
  expect(await lost(boat, [sha256])).toEqual({ files: [] });
  expect((await download(boat, sha256)).text).toBe(bytes.toString());
});
