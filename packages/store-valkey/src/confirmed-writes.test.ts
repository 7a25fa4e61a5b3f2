import { createServer, type Socket } from 'node:net';
import { sharedPartition } from '@tidemark/core';
import { startValkey, type ValkeyServer } from '@tidemark/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openValkeyStore } from './open-store.ts';

/** Long enough for a busy machine. No test here waits for this to pass. */
const PATIENCE_MS = 300_000;
const partition = sharedPartition('A');

let server: ValkeyServer;

beforeAll(async () => {
  server = await startValkey();
});

afterAll(() => server.remove());

describe('writes confirmed on disk', () => {
  it('[VALKEY-21] a server without WAITAOF is refused at start with a reason', async () => {
    const version = /redis_version:(\S+)/.exec(String(await server.call('INFO', 'server')))?.[1] ?? '';
    const [known] = (await server.call('COMMAND', 'INFO', 'WAITAOF')) as readonly unknown[];
    const opening = openValkeyStore({ address: server.address, prefix: 'a:', isConfirmedOnDisk: true });
    if (known === null) {
      await expect(opening).rejects.toThrow(`confirm_on_disk needs WAITAOF, which version ${version} does not have`);
      return;
    }
    const store = await opening;
    onTestFinished(() => store.close());
    expect(await commit(store, '1')).toMatchObject({ status: 'committed' });
  });

  it('[VALKEY-21] each write waits for the disk, concurrent writes share a wait, and reads do not wait', async () => {
    const proxy = await openWaitAofProxy(() => [1, 0]);
    const store = await openValkeyStore({
      address: proxy.address,
      prefix: 'b:',
      isConfirmedOnDisk: true,
      answerMs: PATIENCE_MS,
    });
    onTestFinished(() => store.close());
    expect(store.engine).toMatchObject({ durability: 'durable', details: { confirm_on_disk: true } });
    expect(await commit(store, '1')).toMatchObject({ status: 'committed' });
    proxy.waits.length = 0;
    expect((await store.partition(partition)).head).toBe(1);
    expect(proxy.waits).toEqual([]);
    await Promise.all(['2', '3', '4', '5', '6'].map((id) => commit(store, id)));
    // The first write is sent alone, the others wait and form one batch.
    expect(proxy.waits).toEqual([
      ['1', '0'],
      ['1', '0'],
    ]);
    expect((await store.partition(partition)).size).toBe(6);
  });

  it('[VALKEY-21] a write is not acknowledged when it is not on the disk in time or too few replicas have it', async () => {
    let answer: readonly [number, number] = [1, 2];
    const proxy = await openWaitAofProxy(() => answer);
    const store = await openValkeyStore({
      ...{ address: proxy.address, prefix: 'c:', isConfirmedOnDisk: true, confirmReplicas: 2, answerMs: PATIENCE_MS },
    });
    onTestFinished(() => store.close());
    expect(await commit(store, '1')).toMatchObject({ status: 'committed' });
    answer = [0, 2];
    await expect(commit(store, '2')).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/not on the disk/),
    });
    answer = [1, 1];
    await expect(commit(store, '3')).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/too few replicas/),
    });
  });
});

function commit(store: Awaited<ReturnType<typeof openValkeyStore>>, id: string) {
  return store.commit({ partition, changes: [{ id, record: id, checksum: 1 }], guards: [] });
}

/**
 * A proxy to the real server that adds WAITAOF with given replies. It tests what Tidemark sends and how it treats the
 * replies, on servers that do not have the command.
 */
async function openWaitAofProxy(answer: () => readonly [number, number]) {
  const waits: string[][] = [];
  const proxy = createServer((socket) => void forward(socket, answer, waits));
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void proxy.close());
  const { port } = proxy.address() as { port: number };
  return { address: `valkey://127.0.0.1:${port}`, waits };
}

async function forward(socket: Socket, answer: () => readonly [number, number], waits: string[][]): Promise<void> {
  const behind = new Redis({ host: '127.0.0.1', port: server.port, protocol: 2 });
  behind.on('error', () => undefined);
  socket.on('error', () => undefined).on('close', () => behind.disconnect());
  let pending = Buffer.alloc(0);
  for await (const chunk of socket) {
    pending = Buffer.concat([pending, chunk as Buffer]);
    for (let read = readCommand(pending); read !== null; read = readCommand(pending)) {
      pending = pending.subarray(read.end);
      const [name = '', ...args] = read.words;
      if (/^waitaof$/i.test(name.toString())) {
        waits.push(args.slice(0, 2).map(String));
        socket.write(encoded(answer()));
      } else if (/^command$/i.test(name.toString())) socket.write(encoded([['waitaof']]));
      else
        socket.write(
          await behind.callBuffer(name.toString(), args).then(encoded, (error: Error) => `-${error.message}\r\n`),
        );
    }
  }
}

/** Reads one command from the bytes received; null: it is incomplete. */
function readCommand(bytes: Buffer): { readonly words: readonly Buffer[]; readonly end: number } | null {
  const words: Buffer[] = [];
  let at = bytes.indexOf('\r\n');
  if (at < 0) return null;
  const count = Number(bytes.toString('latin1', 1, at));
  at += 2;
  while (words.length < count) {
    const line = bytes.indexOf('\r\n', at);
    if (line < 0) return null;
    const end = line + 2 + Number(bytes.toString('latin1', at + 1, line));
    if (bytes.length < end + 2) return null;
    words.push(bytes.subarray(line + 2, end));
    at = end + 2;
  }
  return { words, end: at };
}

function encoded(reply: unknown): Buffer {
  if (Array.isArray(reply)) return Buffer.concat([Buffer.from(`*${reply.length}\r\n`), ...reply.map(encoded)]);
  if (typeof reply === 'number') return Buffer.from(`:${reply}\r\n`);
  if (reply === null || reply === undefined) return Buffer.from('$-1\r\n');
  const text = Buffer.isBuffer(reply) ? reply : Buffer.from(String(reply));
  return Buffer.concat([Buffer.from(`$${text.length}\r\n`), text, Buffer.from('\r\n')]);
}
