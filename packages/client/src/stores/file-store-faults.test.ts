import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { temporaryFolder } from '@tidemark/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommitOptions, LocalStore, LocalWrite } from '../ports/local-store.ts';
import { openFileStore } from './file-store.ts';

/** Counts the calls to the file system, and lets one of them fail before it does anything. */
const disk = (() => {
  const counted = new Set([
    'open',
    'rename',
    'rm',
    'write',
    'writeFile',
    'truncate',
    'sync',
    'datasync',
    'stat',
    'close',
  ]);
  let [calls, failing, failures, code]: [string[], number, number, string] = [[], -1, 0, ''];
  const count = (name: string) => {
    const number = calls.push(name) - 1;
    if (failing < 0 || number < failing || number >= failing + failures) return;
    throw Object.assign(new Error(`${code}: ${name} failed`), { code });
  };
  /** Wraps the functions of the module, and the handles of the files that it opens. */
  const wrap = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(object, name: string) {
        const value: unknown = Reflect.get(object, name, object);
        if (typeof value !== 'function') return value;
        return async (...rest: unknown[]) => {
          if (counted.has(name)) count(name);
          const result: unknown = await Reflect.apply(value, object, rest);
          return name === 'open' ? wrap(result as object) : result;
        };
      },
    });
  return {
    wrap,
    /** Counts from now on. So many calls fail, of which the first is the call `number`. */
    begin(number: number, count: number, errorCode = 'EMFILE') {
      [calls, failing, failures, code] = [[], number, count, errorCode];
    },
    end() {
      failing = -1;
      return [...calls];
    },
  };
})();

// The functions themselves are replaced, because another test may have loaded the file store before this one.
const { open, rename, rm } = fs;

beforeAll(() => {
  const wrapped = disk.wrap({ open, rename, rm });
  Object.assign(fs, { open: wrapped.open, rename: wrapped.rename, rm: wrapped.rm });
  syncBuiltinESMExports();
});

afterAll(() => {
  Object.assign(fs, { open, rename, rm });
  syncBuiltinESMExports();
});

/** More than any commit here makes. */
const CALLS_MAX = 40;

const fact = (name: string, value?: number): LocalWrite => ({
  table: 'facts',
  key: ['', name],
  ...(value === undefined ? {} : { value }),
});

const factsOf = async (store: LocalStore) =>
  Object.fromEntries((await store.load()).map(({ key, value }) => [key[1], value]));

const before = { first: 1, gone: 1 };
const second = [fact('second', 1), fact('gone')];
const third = [fact('third', 1)];

/** Commits while one call fails, or it and all after it, and once more when the disk works again, and reads what a restart finds. */
async function tryOut(options: CommitOptions, failing: number, isLasting: boolean) {
  const folder = await temporaryFolder();
  const store = await openFileStore(folder.path);
  await store.commit([fact('first', 1), fact('gone', 1)]);
  const errors: string[] = [];
  const refused = (error: { readonly code: string }) => void errors.push(error.code);
  disk.begin(failing, isLasting ? Number.POSITIVE_INFINITY : 1);
  await store.commit(second, options).catch(refused);
  const calls = disk.end();
  await store.commit(third).catch(refused);
  await store.close();
  const again = await openFileStore(folder.path);
  const found = await factsOf(again);
  await again.close();
  await folder.remove();
  return { found, errors, hasFailed: failing < calls.length, label: `call ${failing} of ${calls.join(', ')}` };
}

const allStored = { first: 1, second: 1, third: 1 };

describe('a disk that fails', () => {
  for (const options of [{}, { scrubs: true }]) {
    const kind = 'scrubs' in options ? 'a commit that scrubs' : 'a commit';
    it(`[FILE-6] whichever single call to the disk fails during ${kind}, a restart finds every reported commit and no refused one`, async () => {
      let [failing, isOver] = [0, false];
      for (; !isOver && failing < CALLS_MAX; failing++) {
        const { found, errors, hasFailed, label } = await tryOut(options, failing, false);
        const expected = [allStored, { ...before, third: 1 }, before][errors.length];
        expect(found, label).toEqual(expected);
        isOver = !hasFailed;
      }
      expect(isOver && failing > 2).toBe(true);
    });

    it(`[FILE-6] when the disk fails from any call of ${kind} on, it counts completely or not at all, and no later one is lost`, async () => {
      let [failing, isOver] = [0, false];
      for (; !isOver && failing < CALLS_MAX; failing++) {
        const { found, errors, hasFailed, label } = await tryOut(options, failing, true);
        const possible = [[allStored], [{ ...before, third: 1 }], [before, { first: 1, second: 1 }]][errors.length];
        expect(possible, label).toContainEqual(found);
        isOver = !hasFailed;
      }
      expect(isOver && failing > 2).toBe(true);
    });
  }

  it('[FILE-6] a commit that waits for a compaction is found after a restart if it was reported, whichever two calls of that fail', async () => {
    const large = (n: number): LocalWrite => ({ table: 'facts', key: ['', 'large'], value: `${n}`.repeat(400_000) });
    let [failing, isOver] = [0, false];
    for (; !isOver && failing < CALLS_MAX; failing++) {
      const folder = await temporaryFolder();
      const store = await openFileStore(folder.path);
      for (const n of [1, 2]) await store.commit([large(n)]);
      disk.begin(failing, 2);
      // The third one makes the store compact its file, and the next one waits for that.
      const done = await Promise.allSettled([store.commit([large(3)]), store.commit(third)]);
      const calls = disk.end();
      await store.close();
      const again = await openFileStore(folder.path);
      const found = await factsOf(again);
      const isStored = [found.large === large(3).value, found.third === 1];
      const lost = done.filter(({ status }, index) => status === 'fulfilled' && isStored[index] !== true);
      expect(lost, `call ${failing} of ${calls.join(', ')}`).toEqual([]);
      await again.close();
      await folder.remove();
      isOver = failing >= calls.length;
    }
    expect(isOver && failing > 2).toBe(true);
  });

  it('[LOCAL-13] a commit that finds the disk full says storage_full, and the store goes on when there is room again', async () => {
    const folder = await temporaryFolder();
    const store = await openFileStore(folder.path);
    for (const options of [{}, { scrubs: true }]) {
      disk.begin(1, 1, 'ENOSPC');
      await expect(store.commit(second, options)).rejects.toMatchObject({ code: 'storage_full' });
      disk.end();
    }
    await store.commit(third);
    expect(await factsOf(store)).toEqual({ third: 1 });
    await store.close();
    await folder.remove();
  });
});
