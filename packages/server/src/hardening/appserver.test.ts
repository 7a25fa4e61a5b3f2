import { Caller } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';

let server: TestServer;
let admin: Caller;

beforeAll(async () => {
  // With port 0 the server learns its address only when it listens.
  server = await startTestServer({ publicUrl: 'https://sync.example' });
  admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/system/appserver', { adapter_url: 'http://127.0.0.1:1/kept' });
});

afterAll(async () => {
  admin.close();
  await server.close();
});

async function refusalOf(adapter_url: string): Promise<string | null> {
  const { code, text } = await admin.post('/rc/v1/system/appserver', { adapter_url });
  expect(text).not.toContain('secret');
  expect((await admin.get('/rc/v1/system/appserver')).body).toEqual({ adapter_url: 'http://127.0.0.1:1/kept' });
  return code;
}

it.each([
  'file:///etc/passwd',
  'gopher://x/',
  'javascript:alert(1)',
  'ftp://backend.example/',
  'data:text/plain,x',
  '/relative',
  '//backend.example/',
  'backend.example',
  'http:backend.example',
  'http:///backend.example',
  'http://',
  '',
  ' http://backend.example',
  'http://backend.example/\nx',
  `http://backend.example/${'x'.repeat(3_000)}`,
])('[HARD-41] the URL %j is refused as the address of the backend', async (url) => {
  expect(await refusalOf(url)).toBe('url_not_allowed');
});

it.each([
  'http://169.254.169.254/',
  'http://[fe80::1]/',
  'http://0/',
  'http://0.0.0.0/',
  'http://[::]/',
  'http://2852039166/',
  'http://0xa9fea9fe/',
  'http://0251.0376.0251.0376/',
  'http://169.254.169.254.:80/',
  'http://[::ffff:169.254.169.254]/',
  'http://[::ffff:a9fe:a9fe]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://metadata.google.internal/',
  'http://METADATA.google.internal./',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
])('[HARD-42] the address in %s is never called', async (url) => {
  expect(await refusalOf(url)).toBe('url_not_allowed');
});

it.each(['http://u:secret@h.example/', 'http://u@h.example/', 'http://:secret@h.example/', 'http://@h.example/'])(
  '[HARD-45] the credentials in %s are refused and not repeated',
  async (url) => {
    expect(await refusalOf(url)).toBe('url_not_allowed');
  },
);

it('[HARD-46] the server refuses its own address as the backend, in every spelling', async () => {
  const { port } = server;
  const spellings = [
    '127.0.0.1',
    'localhost',
    'LOCALHOST.',
    '[::1]',
    '127.1',
    '0x7f000001',
    '127.8.9.10',
    '[::ffff:127.0.0.1]',
  ];
  for (const host of spellings)
    expect([host, await refusalOf(`http://${host}:${port}/x`)]).toEqual([host, 'url_not_allowed']);
  expect(await refusalOf('https://sync.example/backend')).toBe('url_not_allowed');
});
