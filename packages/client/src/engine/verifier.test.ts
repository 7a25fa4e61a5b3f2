import { attributesChecksum, type Page } from '@tidemark/protocol';
import { expect, it } from 'vitest';
import { defaultPlatform } from '../platform/default-platform.ts';
import type { LocalRow, LocalStore } from '../ports/local-store.ts';
import { Replica } from '../replica/replica.ts';
import { LocalState } from '../state/local-state.ts';
import type { SourceRow } from '../state/rows.ts';
import { memoryStore } from '../stores/memory-store.ts';
import { Verifier } from './verifier.ts';

const DESCRIPTION = {
  name: 'Order',
  partition_type: 'user',
  sync_type: 'incremental',
  conflicts: 'last_writer',
  read_only: false,
  references: {},
  searchable: false,
} as const;
const ROW: SourceRow = {
  description: DESCRIPTION,
  seen: 't1',
  token: 't1',
  staging: null,
  syncedAtMs: 0,
  heals: 0,
};
const ROWS = [
  { table: 'facts', key: ['', 'session'], value: { userId: 'ada', clientId: 'c1' } },
  { table: 'objects', key: ['Order', 'o1'], value: { n: 1 } },
] as const;
/** What the server says about a source with the one object that is stored. */
const PAGE: Page = { token: 't1', more: false, size: 1, checksum: attributesChecksum('o1', { n: 1 }) };

/** A replica whose commits wait until they are let through, and a verifier whose pauses take no time. */
async function openVerifier(row: SourceRow) {
  const kept = memoryStore([...ROWS, { table: 'sources', key: ['', 'Order'], value: row } as unknown as LocalRow]);
  let letThrough: () => void = () => undefined;
  const commit: LocalStore['commit'] = async (writes) => {
    await new Promise<void>((resolve) => {
      letThrough = resolve;
    });
    await kept.commit(writes);
  };
  const store: LocalStore = { load: () => kept.load(), close: () => kept.close(), commit };
  const replica = new Replica(() => undefined, store);
  replica.open(new LocalState(await store.load()));
  const calls: unknown[] = [];
  const platform = {
    ...defaultPlatform(),
    after: (_ms: number, callback: () => void) => {
      queueMicrotask(callback);
      return () => undefined;
    },
  };
  const verifier = new Verifier({
    ...{ platform, replica },
    onMeasured: (place, measured) => calls.push({ place, measured }),
    onHealed: (source, reason) => calls.push({ source, reason }),
  });
  const scope = { userId: 'ada', clientId: 'c1', signal: new AbortController().signal };
  return {
    replica,
    calls,
    letThrough: () => letThrough(),
    expectPage: (page: Page) => verifier.expect({ source: 'Order' }, page, scope),
  };
}

/** Resolves when everything has happened that waits for nothing but earlier steps. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

it('[SDK-8] objects that match the server are measured once', async () => {
  const { calls, expectPage } = await openVerifier(ROW);
  expectPage(PAGE);
  await settled();
  const { size, checksum } = PAGE;
  expect(calls).toEqual([{ place: { source: 'Order' }, measured: { size, checksum } }]);
});

it('[SDK-8] a measure that was taken while a page was being stored does not count', async () => {
  const { replica, calls, letThrough, expectPage } = await openVerifier(ROW);
  const applied = replica.transact((tx) => {
    tx.put('objects', ['Order', 'o2'], { n: 2 });
    tx.put('sources', ['', 'Order'], { ...ROW, token: 't2', seen: 't2' });
  });
  await settled();
  expectPage(PAGE);
  await settled();
  letThrough();
  await applied;
  await settled();
  expect(calls).toEqual([]);
});

it('[SDK-8] a first sync that begins again is not taken for wrong data', async () => {
  const staging = { token: null, pages: 0, firstSync: 'hidden' } as const;
  const { replica, calls, letThrough, expectPage } = await openVerifier({ ...ROW, staging });
  expectPage({ ...PAGE, size: 5 });
  await settled();
  letThrough();
  await settled();
  expect(calls).toEqual([]);
  expect(replica.reader.get('sources', ['', 'Order'])).toMatchObject({ token: 't1', heals: 0, staging });
});
