import { expect, it } from 'vitest';
import { TidemarkClient } from './tidemark-client.ts';

interface Seen {
  readonly call: string;
  readonly type: string | null;
  readonly text: string;
}

/** A client of a server that fails once, then answers. */
function failingOnce() {
  const seen: Seen[] = [];
  const client = new TidemarkClient({
    url: 'http://127.0.0.1:1',
    retry: { firstPauseMsMax: 0 },
    platform: {
      fetch: async (url, init) => {
        const request = new Request(url, init);
        const text = await request.text();
        seen.push({ call: `${request.method} ${url}`, type: request.headers.get('content-type'), text });
        if (seen.length === 1) throw new TypeError('the connection broke');
        return Response.json({ $file: {} });
      },
    },
  });
  return { client, seen };
}

async function* chunks(): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode('one ');
  yield new TextEncoder().encode('two');
}

it('[FILES-63] bytes and blobs are sent again after a failure, with their type and name', async () => {
  const { client, seen } = failingOnce();
  await client.files.add(new Blob(['a blob'], { type: 'text/plain' }), { name: 'a b.txt' });
  await client.files.put('ab', new TextEncoder().encode('bytes'), { type: 'image/png' });
  expect(seen).toEqual([
    ...Array.from({ length: 2 }, () => ({
      call: 'POST http://127.0.0.1:1/rc/v1/files?name=a+b.txt',
      type: 'text/plain',
      text: 'a blob',
    })),
    { call: 'PUT http://127.0.0.1:1/rc/v1/files/ab', type: 'image/png', text: 'bytes' },
  ]);
});

it('[FILES-63] a stream is sent while it is read, and never again', async () => {
  const { client, seen } = failingOnce();
  await expect(client.files.add(chunks())).rejects.toMatchObject({ code: 'unreachable', attempts: 1 });
  await client.files.add(chunks());
  const call = 'POST http://127.0.0.1:1/rc/v1/files';
  expect(seen).toEqual(Array(2).fill({ call, type: 'application/octet-stream', text: 'one two' }));
});

it('[FILES-63] a part of a file is asked for by its range', async () => {
  const ranges: (string | null)[] = [];
  const fetch = async (_url: string, init: RequestInit) => {
    ranges.push(new Headers(init.headers).get('range'));
    return new Response('part', { status: 206 });
  };
  const client = new TidemarkClient({ url: 'http://127.0.0.1:1', platform: { fetch } });
  const texts: string[] = [];
  for (const range of [{}, { from: 5 }, { from: 5, to: 9 }, { to: 9 }]) {
    for await (const chunk of await client.files.download('ab', range)) texts.push(new TextDecoder().decode(chunk));
  }
  expect(ranges).toEqual([null, 'bytes=5-', 'bytes=5-9', 'bytes=0-9']);
  expect(texts).toEqual(Array(4).fill('part'));
});

it('[FILES-66] a download follows a link to the storage, which gets the range and not the token', async () => {
  const seen: (readonly [url: string, token: string | null, range: string | null])[] = [];
  const fetch = async (url: string, init: RequestInit) => {
    const headers = new Headers(init.headers);
    seen.push([url, headers.get('x-sync-api-token'), headers.get('range')]);
    const location = 'https://storage.example/b/files/ab?X-Amz-Signature=1';
    return seen.length === 1 ? new Response(null, { status: 307, headers: { location } }) : new Response('linked');
  };
  const client = new TidemarkClient({ url: 'http://127.0.0.1:1', token: 'tmk_secret', platform: { fetch } });
  const chunks: string[] = [];
  for await (const chunk of await client.files.download('ab', { from: 3 }))
    chunks.push(new TextDecoder().decode(chunk));
  expect([chunks, seen]).toEqual([
    ['linked'],
    [
      ['http://127.0.0.1:1/rc/v1/files/ab', 'tmk_secret', 'bytes=3-'],
      ['https://storage.example/b/files/ab?X-Amz-Signature=1', null, 'bytes=3-'],
    ],
  ]);
});
