import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pass } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type { Change, Store } from '@tidemark/core';
import { sharedPartition, userPartition } from '@tidemark/core';
import { refusalOf, temporaryFolder } from '@tidemark/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openEmbeddedStore } from './open-store.ts';
import { MAP_BYTES, openTables, STORE_FILE } from './tables.ts';

const BUILT = new URL('../dist/index.js', import.meta.url).href;
const BUILT_TABLES = new URL('../dist/tables.js', import.meta.url).href;
const partition = sharedPartition('s');
const objects = (count: number, units: number): Change[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `o${index}`,
    record: `"o${index}":{"t":"${'x'.repeat(units)}"}`,
    checksum: 1,
  }));

async function openIn(): Promise<{ store: Store; folder: string }> {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const store = await openEmbeddedStore({ folder: folder.path });
  onTestFinished(() => store.close());
  return { store, folder: folder.path };
}

/** Another process, in a transaction that it ends when it is told to. */
async function writeUntilTold(folder: string): Promise<{ tell(): void }> {
  const program = `
    const { readSync } = await import('node:fs');
    const { openTables, STORE_FILE } = await import(${JSON.stringify(BUILT_TABLES)});
    const tables = openTables(${JSON.stringify(join(folder, STORE_FILE))}, { mapBytes: ${MAP_BYTES} });
    tables.root.transactionSync(() => {
      console.log('writing');
      readSync(0, Buffer.alloc(1));
    });
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return { tell: () => child.stdin.end() };
}

describe('the writer thread', () => {
  it('[EMB-1] a commit that is sent in many messages is one atomic step', async () => {
    const { store } = await openIn();
    const changes = objects(9_001, 10);
    const large = store.commit({ partition, changes, guards: [] });
    const seen: number[] = [];
    let isDone = false;
    const watch = async () => {
      while (!isDone) {
        seen.push((await store.partition(partition)).size);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const watching = watch();
    expect(await large).toMatchObject({ status: 'committed', state: { head: 9_001, size: 9_001 } });
    isDone = true;
    await watching;
    expect(new Set([...seen, 0, 9_001])).toEqual(new Set([0, 9_001]));
    expect(
      await store.commit({
        partition,
        changes: [...changes.slice(1), { id: 'o0', record: null, checksum: 0, expect: 7 }],
        guards: [],
      }),
    ).toEqual({
      status: 'conflict',
    });
    expect(await store.partition(partition)).toMatchObject({ head: 9_001 });
  });

  it('[EMB-17] writes that arrive while another process writes share one flush', async () => {
    const { store, folder } = await openIn();
    let flushes = 0;
    store.onFlushed?.(() => flushes++);
    const other = await writeUntilTold(folder);
    const commitOne = () => store.commit({ partition, changes: objects(1, 10), guards: [] });
    const first = commitOne();
    // Long enough for the thread to wait for the other process with the first commit alone.
    await pass(300);
    const later = [];
    for (let count = 0; count < 5; count++) {
      later.push(commitOne());
      await pass(1);
    }
    other.tell();
    for (const result of await Promise.all([first, ...later])) expect(result).toMatchObject({ status: 'committed' });
    expect(flushes).toBe(1);
  });

  it('[EMB-2] a write to a full disk is refused, stored data stays, and small writes and reads continue', async () => {
    const { folder } = await openIn();
    const program = `
      const { openEmbeddedStore } = await import(${JSON.stringify(BUILT)});
      const store = await openEmbeddedStore({ folder: ${JSON.stringify(join(folder, 'inner'))} });
      const partition = { source: 's', owner: { kind: 'shared' } };
      const objects = (count, text) => Array.from({ length: count }, (_, i) => ({ id: 'o' + i, record: '"o' + i + '":{"t":"' + text + '"}', checksum: 1 }));
      const row = (metric) => ({ metric, atS: 60, count: 1, sum: 1, min: 1, max: 1 });
      await store.commit({ partition, changes: objects(10, 'x'), guards: [] });
      const before = await store.partition(partition);
      const results = await Promise.allSettled([
        store.addStats([row('m1')]),
        store.commit({ partition, changes: objects(1900, 'y'.repeat(4000)), guards: [] }),
        store.addStats([row('m2')]),
      ]);
      const after = await store.partition(partition);
      const codes = results.map((result) => result.reason?.code ?? result.status);
      const isSame = JSON.stringify(before) === JSON.stringify(after);
      console.log(JSON.stringify({ codes, isSame, names: await store.statNames() }));
      await store.close();
    `;
    // A limit on the size of files simulates a full disk.
    const shell = [
      '-c',
      `trap '' XFSZ; ulimit -f 4096; exec "$0" --input-type=module -e "$1"`,
      process.execPath,
      program,
    ];
    expect(JSON.parse(execFileSync('bash', shell, { encoding: 'utf8' }))).toEqual({
      codes: ['fulfilled', 'store_unavailable', 'fulfilled'],
      isSame: true,
      names: ['m1', 'm2'],
    });
  });

  it('[EMB-12] on a full disk users, sources and everything can be deleted, and the freed room is used again', async () => {
    const { folder } = await openIn();
    const program = `
      const { openEmbeddedStore } = await import(${JSON.stringify(BUILT)});
      const store = await openEmbeddedStore({ folder: ${JSON.stringify(join(folder, 'inner'))}, lowDiskBytes: 1e18 });
      const users = Array.from({ length: 20 }, (_, index) => 'user' + index);
      let count = 0;
      const push = (user, units) => store.commit({
        partition: { source: 's' + (count % 3), owner: { kind: 'user', login: user } },
        changes: Array.from({ length: 10 }, () => ({ id: 'o' + count++, record: '"o' + count + '":{"t":"' + 'y'.repeat(units) + '"}', checksum: 1 })),
        guards: [],
      });
      const fill = async () => {
        for (const units of [2_000, 200, 1]) {
          for (let turn = 0; turn < 10_000; turn++) {
            const refusal = await push(users[turn % users.length], units).then(() => null, (error) => error);
            if (refusal === null) continue;
            if (refusal.code !== 'store_full') throw refusal;
            break;
          }
        }
        return count;
      };
      const erase = (what) => store.writeEntries({ writes: [{ kind: 'setting', key: ['x'], value: null }], guards: [], erase: what });
      const filled = [await fill()];
      for (let round = 0; round < 3; round++) {
        await store.writeEntries({ writes: [{ kind: 'token', key: ['t' + round], value: 'small' }], guards: [] });
        await erase({ users: users.slice(round * 5, round * 5 + 5) });
        filled.push(await fill());
      }
      await erase({ sources: ['s0'] });
      filled.push(await fill());
      await store.reset([]);
      filled.push(await fill());
      const findings = [];
      for await (const finding of store.verify(() => ({ id: '', checksum: 1 }))) if (finding.problem !== 'wrong_id') findings.push(finding.problem);
      console.log(JSON.stringify({ grew: filled.every((n, i) => i === 0 || n > filled[i - 1]), sizes: findings.filter((problem) => problem === 'wrong_size') }));
      await store.close();
    `;
    const shell = [
      '-c',
      `trap '' XFSZ; ulimit -f 8192; exec "$0" --input-type=module -e "$1"`,
      process.execPath,
      program,
    ];
    const { stdout, stderr } = spawnSync('bash', shell, { encoding: 'utf8' });
    // LMDB's own message about a full disk would be a line in a server's log that is not JSON.
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual({ grew: true, sizes: [] });
  });

  it('[EMB-13] the message of the engine about a failed write is logged and not sent to callers', async () => {
    const { folder } = await openIn();
    const program = `
      const { openEmbeddedStore } = await import(${JSON.stringify(BUILT)});
      const store = await openEmbeddedStore({ folder: ${JSON.stringify(join(folder, 'inner'))} });
      const changes = Array.from({ length: 1900 }, (_, i) => ({ id: 'o' + i, record: '"o' + i + '":{"t":"' + 'y'.repeat(4000) + '"}', checksum: 1 }));
      const error = await store.commit({ partition: { source: 's', owner: { kind: 'shared' } }, changes, guards: [] }).catch((failed) => failed);
      console.log(JSON.stringify({ message: error.message, hasCause: error.cause.message.length > 0 }));
      await store.close();
    `;
    const shell = [
      '-c',
      `trap '' XFSZ; ulimit -f 4096; exec "$0" --input-type=module -e "$1"`,
      process.execPath,
      program,
    ];
    expect(JSON.parse(execFileSync('bash', shell, { encoding: 'utf8' }))).toEqual({
      message: 'the store could not write to its disk',
      hasCause: true,
    });
  });

  it('[EMB-3] a task that cannot be applied fails alone, and those that share its transaction succeed', async () => {
    const { store } = await openIn();
    const twice: Change = { id: '1', record: '"1":{"a":1}', checksum: 1 };
    const results = await Promise.allSettled([
      store.commit({ partition, changes: [twice], guards: [] }),
      store.commit({ partition, changes: [twice, twice], guards: [] }),
      store.commit({ partition, changes: [{ ...twice, id: '2' }], guards: [] }),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await store.partition(partition)).toMatchObject({ head: 2, size: 2 });
  });

  it('[EMB-4] closing finishes the writes that were sent before and refuses later calls', async () => {
    const { store, folder } = await openIn();
    const asked = [store.commit({ partition, changes: objects(5_000, 10), guards: [] }), store.trim(partition, 1)];
    const closing = store.close();
    const late = refusalOf(store.commit({ partition, changes: objects(1, 1), guards: [] }));
    expect((await Promise.all(asked)).length).toBe(2);
    await closing;
    expect(await late).toBe('store_unavailable');
    expect(await refusalOf(store.partition(partition))).toBe('store_unavailable');
    const again = await openEmbeddedStore({ folder });
    expect(await again.partition(partition)).toMatchObject({ head: 5_000 });
    await again.close();
  });

  it('[EMB-5] concurrent writes share a transaction and its flush', async () => {
    const { store, folder } = await openIn();
    const tables = openTables(join(folder, 'store.mdb'), { mapBytes: MAP_BYTES });
    onTestFinished(() => tables.root.close());
    const transactions = () => (tables.root.getStats() as { lastTxnId: number }).lastTxnId;
    const write = (index: number) =>
      store.addStats([{ metric: `m${index}`, atS: 60, count: 1, sum: 1, min: 1, max: 1 }]);
    const start = transactions();
    for (let index = 0; index < 20; index++) await write(index);
    expect(transactions() - start).toBe(20);
    await Promise.all(Array.from({ length: 200 }, (_, index) => write(index)));
    expect(transactions() - start - 20).toBeLessThan(200);
  });
});

/** Opens a store and returns its writer thread, too. */
async function openWithThread() {
  let thread: Worker | null = null;
  const notice = (worker: Worker) => {
    thread = worker;
  };
  process.once('worker', notice);
  const { store, folder } = await openIn();
  process.off('worker', notice);
  if (thread === null) throw new Error('the store has no thread');
  return { store, folder, thread: thread as Worker };
}

describe('messages to the writer thread', () => {
  it('[EMB-14] commits made in one turn of the event loop reach the writer thread in one message', async () => {
    const { store, thread } = await openWithThread();
    const posted = vi.spyOn(thread, 'postMessage');
    const commits = Array.from({ length: 30 }, (_, index) => {
      const id = `${index} ä`;
      return store.commit({ partition, changes: [{ id, record: `"${id}":{"a":"ü"}`, checksum: 1 }], guards: [] });
    });
    const large = store.commit({ partition: userPartition('s', 'u'), changes: objects(100, 10), guards: [] });
    expect((await Promise.all([...commits, large])).map(({ status }) => status)).toEqual(Array(31).fill('committed'));
    expect(posted).toHaveBeenCalledTimes(1);
    const { objects: stored } = await store.readObjects(partition, ['7 ä']);
    expect(stored.get('7 ä')).toEqual({ seq: 8, record: '"7 ä":{"a":"ü"}' });
  });
});

describe('a writer thread that dies', () => {
  const write = (store: Store, id = 'o') =>
    store.commit({ partition, changes: [{ id, record: `"${id}":{"a":1}`, checksum: 1 }], guards: [] });

  it.each([
    ['throws an error', (thread: Worker) => thread.postMessage({ kind: 'nonsense' })],
    ['is terminated', (thread: Worker) => void thread.terminate()],
  ])('[EMB-9] a store whose writer thread %s refuses every call, and nothing hangs', async (_how, kill) => {
    const { store, thread } = await openWithThread();
    expect(await write(store)).toMatchObject({ status: 'committed' });
    const ended = new Promise((resolve) => thread.once('exit', resolve));
    kill(thread);
    // Calls made while the thread dies are answered with a result or a refusal.
    const between = write(store, 'between').then(
      () => 'committed',
      (error: { readonly code: string }) => error.code,
    );
    await ended;
    expect(['committed', 'store_unavailable']).toContain(await between);
    const asked: Promise<unknown>[] = [
      write(store, 'later'),
      store.addStats([]),
      store.partition(partition),
      store.readObjects(partition, ['o']),
      store.readEntry({ kind: 'user', key: ['anna'] }),
      store.epoch(),
    ];
    for (const promise of asked) expect(await refusalOf(promise)).toBe('store_unavailable');
  });

  it('[EMB-9] a store that is opened again after its writer died has everything that was acknowledged', async () => {
    const { store, folder, thread } = await openWithThread();
    for (let number = 0; number < 20; number++) await write(store, `o${number}`);
    await thread.terminate();
    await store.close();
    const again = await openEmbeddedStore({ folder });
    onTestFinished(() => again.close());
    expect(await again.partition(partition)).toMatchObject({ size: 20, head: 20 });
  });
});
