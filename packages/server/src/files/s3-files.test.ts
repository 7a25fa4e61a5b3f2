import { createHash } from 'node:crypto';
import { Caller, S3_KEYS, type S3Server, startS3Server } from '@tidemark/testing/kit';
import { startTestServer, type TestServer, testConfig } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';

let storage: S3Server;
const servers: TestServer[] = [];

beforeAll(async () => {
  storage = await startS3Server();
});

afterAll(async () => {
  for (const server of servers) await server.close();
  await storage.stop();
});

async function serverWith(linkS: number): Promise<{ readonly server: TestServer; readonly api: Caller }> {
  const s3 = { ...S3_KEYS, bucket: storage.bucket, endpoint: storage.url, prefix: 'files-of-a-server/', linkS };
  const { files } = testConfig('unused');
  const server = await startTestServer({ files: { ...files, s3 } });
  servers.push(server);
  return { server, api: new Caller(server.url, server.token) };
}

const store = (api: Caller, bytes: Buffer) =>
  api.send({ method: 'POST', path: '/rc/v1/files', headers: { 'content-type': 'text/html' }, body: bytes });
const pathOf = (bytes: Buffer) => `/rc/v1/files/${createHash('sha256').update(bytes).digest('hex')}`;

it('[FILES-66] servers with the same bucket find the same files, and pass their bytes on', async () => {
  const [{ api }, { api: other }] = [await serverWith(0), await serverWith(0)];
  const bytes = Buffer.from('<html>in a bucket</html>');
  expect((await store(api, bytes)).status).toBe(200);
  const found = await other.get(pathOf(bytes), { range: 'bytes=1-4' });
  expect([found.status, found.text]).toEqual([206, 'html']);
  expect(found.headers).toMatchObject({ 'content-disposition': 'attachment', 'x-content-type-options': 'nosniff' });
});

it('[FILES-66] with links, a download is sent to the storage for a short time, and rights are checked before', async () => {
  const { server, api } = await serverWith(60);
  const bytes = Buffer.from('<html>behind a link</html>');
  await store(api, bytes);
  const reply = await api.get(pathOf(bytes));
  expect([reply.status, reply.text, reply.headers['cache-control']]).toEqual([307, '', 'no-store']);
  const link = String(reply.headers.location);
  expect(new URL(link).searchParams.get('X-Amz-Expires')).toBe('60');
  const linked = await fetch(link);
  expect(await linked.text()).toBe(bytes.toString());
  expect(new URL(link).searchParams.get('response-content-disposition')).toBe('attachment');
  expect(new URL(link).searchParams.get('response-content-type')).toBe('application/octet-stream');
  const head = await api.send({ method: 'HEAD', path: pathOf(bytes), headers: {}, body: null });
  expect([head.status, head.headers['content-length']]).toEqual([200, String(bytes.length)]);
  const fromConsole = await api.get(pathOf(bytes), { 'x-tidemark-console': '1' });
  expect([fromConsole.status, fromConsole.text]).toEqual([200, bytes.toString()]);
  const stranger = await new Caller(server.url, null).get(pathOf(bytes));
  expect([stranger.status, stranger.headers.location]).toEqual([401, undefined]);
});
