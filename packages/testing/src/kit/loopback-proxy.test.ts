import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { startLoopbackProxy } from './loopback-proxy.ts';

async function startServer(): Promise<number> {
  const server = createServer((request, response) => {
    // Not ended: an event stream stays open.
    if (request.url === '/events') response.write('event');
    else response.end(`${request.headers.host} ${request.url}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function startProxy() {
  const proxy = await startLoopbackProxy();
  onTestFinished(() => proxy.close());
  const ask = (url: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const request = { port: proxy.port, path: url, headers: { host: new URL(url).host } };
      get({ host: '127.0.0.1', agent: false, ...request }, resolve).on('error', reject);
    });
  return { proxy, ask };
}

it('a proxy forwards requests to this machine and refuses all others', async () => {
  const port = await startServer();
  const { ask } = await startProxy();
  expect(await text(await ask(`http://localhost:${port}/path?n=1`))).toBe(`localhost:${port} /path?n=1`);
  expect((await ask('http://example.com/')).statusCode).toBe(403);
});

it('a proxy that is offline cuts open answers and answers nothing until it is online again', async () => {
  const port = await startServer();
  const { proxy, ask } = await startProxy();
  const stream = await ask(`http://localhost:${port}/events`);
  proxy.setOffline(true);
  await expect(text(stream)).rejects.toThrow('aborted');
  await expect(ask(`http://localhost:${port}/`)).rejects.toThrow();
  proxy.setOffline(false);
  expect((await ask(`http://localhost:${port}/`)).statusCode).toBe(200);
});
