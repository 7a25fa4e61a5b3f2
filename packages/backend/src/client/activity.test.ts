import { expect, it } from 'vitest';
import { TidemarkClient } from './tidemark-client.ts';

function clientOf(chunks: readonly string[]) {
  const urls: string[] = [];
  const client = new TidemarkClient({
    url: 'http://127.0.0.1:1',
    platform: {
      fetch: async (url) => {
        urls.push(url);
        const encoder = new TextEncoder();
        const body = new ReadableStream({
          start(controller) {
            for (const chunk of chunks) controller.enqueue(encoder.encode(chunk));
            controller.close();
          },
        });
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
      },
    },
  });
  return { client, urls };
}

it('[BSDK-22] activity is an iteration over events, wherever the bytes are cut, and tells how many were dropped', async () => {
  const text = [
    'event: ready\ndata: {}\n\n',
    ':\n\n',
    'event: activity\ndata: {"kind":"push","source":"Übung"}\n\n',
    'event: dropped\ndata: {"count":7}\n\n',
    'event: activity\ndata: {"kind":"pull"}\n\n',
  ].join('');
  const { client, urls } = clientOf([...text]);
  const dropped: number[] = [];
  const seen: unknown[] = [];
  const options = {
    user: 'anna',
    kinds: ['push', 'pull'],
    data: true,
    onReady: () => seen.push('ready'),
    onDropped: (count: number) => dropped.push(count),
  } as const;
  for await (const event of client.activity.watch(options)) seen.push(event);
  expect(seen).toEqual(['ready', { kind: 'push', source: 'Übung' }, { kind: 'pull' }]);
  expect(dropped).toEqual([7]);
  expect(urls).toEqual(['http://127.0.0.1:1/rc/v1/activity?user_id=anna&kind=push%2Cpull&include=data']);
});

it('[BSDK-22] activity throws when the token has ended', async () => {
  const { client } = clientOf(['event: ended\ndata: {"code":"token_invalid"}\n\n']);
  await expect(client.activity.watch().next()).rejects.toMatchObject({ code: 'token_invalid' });
});
