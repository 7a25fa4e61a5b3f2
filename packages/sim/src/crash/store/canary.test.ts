import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Tidemark } from '@tidemark/core';
import { Rng, seededRandom, type TemporaryFolder, temporaryFolder } from '@tidemark/testing/kit';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { keyOf } from '../../model/partition.ts';
import { checkStore } from './check-store.ts';
import { clientOf, loginOf, partitionOf } from './names.ts';
import { openTidemark } from './open-tidemark.ts';
import type { Operation } from './operation.ts';
import { performOperation } from './perform-operation.ts';
import { runCrashes } from './run-crashes.ts';
import { StoreModel } from './store-model.ts';

// These tests damage a store and show that the check notices.

const WRITER = 1;
const MANY = { first: 0, count: 2_500, seed: 7 } as const;
const FEW = { first: 0, count: 3, seed: 8 } as const;

let folder: TemporaryFolder;
let tidemark: Tidemark;
let model: StoreModel;

beforeEach(async () => {
  folder = await temporaryFolder();
  tidemark = await openTidemark(join(folder.path, 'store'));
  model = new StoreModel();
  await acknowledge({ kind: 'declare_source', target: 'shared' });
  await acknowledge({ kind: 'declare_source', target: 'own' });
  await acknowledge({ kind: 'create_user' });
  await acknowledge({ kind: 'register_client' });
  await acknowledge({ kind: 'push_objects', target: 'own', objects: FEW });
  await acknowledge({ kind: 'pull', target: 'own', token: null, objectsMax: 500 });
});

afterEach(async () => {
  await tidemark.store.close();
  await folder.remove();
});

async function acknowledge(operation: Operation): Promise<void> {
  begin(operation);
  model.add({ say: 'done', writer: WRITER, answer: await performOperation(tidemark, WRITER, operation) });
}

function begin(operation: Operation): void {
  model.add({ say: 'begin', writer: WRITER, operation });
}

async function rulesBroken(): Promise<string[]> {
  const { problems } = await checkStore(tidemark, model, new Rng(seededRandom(1)));
  return [...new Set(problems.map(({ rule }) => rule))].sort();
}

describe('the check of a store', () => {
  it('the check of a store reports nothing when nothing is wrong', async () => {
    begin({ kind: 'push_objects', target: 'own', objects: MANY });
    expect(await rulesBroken()).toEqual([]);
    expect(await rulesBroken()).toEqual([]);
  });

  it('the check of a store reports nothing when a running operation was applied', async () => {
    const operation: Operation = { kind: 'push_objects', target: 'own', objects: MANY };
    begin(operation);
    await performOperation(tidemark, WRITER, operation);
    expect(await rulesBroken()).toEqual([]);
  });

  it('the check of a store reports an acknowledged operation that was never performed', async () => {
    begin({ kind: 'push_objects', target: 'own', objects: { ...FEW, first: 10 } });
    model.add({ say: 'done', writer: WRITER, answer: { kind: 'done' } });
    expect(await rulesBroken()).toEqual(['CRASH-1']);
  });

  it('the check of a store reports an object that was deleted without a write', async () => {
    expect(await rulesBroken()).toEqual([]);
    const changes = [{ id: 'w1-0', record: null, checksum: 0 }];
    await tidemark.store.commit({ partition: keyOf(partitionOf(WRITER, 'own')), changes, guards: [] });
    expect(await rulesBroken()).toEqual(['CRASH-3']);
  });

  it('the check of a store reports a record that was replaced without its checksum', async () => {
    const changes = [{ id: 'w1-0', record: '"w1-0":{"a":"forged"}', checksum: 5 }];
    await tidemark.store.commit({ partition: keyOf(partitionOf(WRITER, 'own')), changes, guards: [] });
    expect(await rulesBroken()).toEqual(['CRASH-1', 'CRASH-4']);
  });

  it('the check of a store reports a batch of which only a part was written', async () => {
    begin({ kind: 'push_objects', target: 'own', objects: MANY });
    await performOperation(tidemark, WRITER, {
      kind: 'push_objects',
      target: 'own',
      objects: { ...MANY, count: 2_000 },
    });
    expect(await rulesBroken()).toEqual(['CRASH-2']);
  });

  it('the check of a store reports a user of whom only a part was deleted', async () => {
    begin({ kind: 'delete_user' });
    await tidemark.store.writeEntries({ writes: [{ kind: 'user', key: ['u1'], value: null }], guards: [] });
    expect(await rulesBroken()).toContain('CRASH-2');
  });

  it('the check of a store reports a store that went back to an earlier state', async () => {
    const store = join(folder.path, 'store');
    const copy = join(folder.path, 'copy');
    await tidemark.store.close();
    cpSync(store, copy, { recursive: true });
    tidemark = await openTidemark(store);
    await acknowledge({ kind: 'push_objects', target: 'own', objects: { ...FEW, seed: 9 } });
    await tidemark.store.close();
    rmSync(store, { recursive: true });
    cpSync(copy, store, { recursive: true });
    tidemark = await openTidemark(store);
    expect(await rulesBroken()).toEqual(['CRASH-1', 'CRASH-5']);
  });

  it('the check of a store reports a seq that was used twice', async () => {
    const store = join(folder.path, 'store');
    const copy = join(folder.path, 'copy');
    await tidemark.store.close();
    cpSync(store, copy, { recursive: true });
    tidemark = await openTidemark(store);
    begin({ kind: 'push_objects', target: 'own', objects: { ...FEW, seed: 9 } });
    await performOperation(tidemark, WRITER, { kind: 'push_objects', target: 'own', objects: { ...FEW, seed: 9 } });
    expect(await rulesBroken()).toEqual([]);
    await tidemark.store.close();
    rmSync(store, { recursive: true });
    cpSync(copy, store, { recursive: true });
    tidemark = await openTidemark(store);
    await performOperation(tidemark, WRITER, { kind: 'push_objects', target: 'own', objects: { ...FEW, seed: 10 } });
    expect(await rulesBroken()).toEqual(['CRASH-1', 'CRASH-3', 'CRASH-5']);
  });

  it('the check of a store reports a device that had to start over without a reason', async () => {
    model.devices[WRITER]?.device.setToken('1.e.5.b5.0');
    expect((await checkStore(tidemark, model, new Rng(seededRandom(1)))).problems).toContainEqual({
      rule: 'CRASH-6',
      detail: expect.stringContaining('had to start over'),
    });
  });

  it('the check of a store reports a device that pulls though it is not registered', async () => {
    const own = await tidemark.clients.own(loginOf(WRITER), clientOf(WRITER));
    await acknowledge({ kind: 'delete_user' });
    tidemark.clients.own = async () => own;
    expect(await rulesBroken()).toEqual(['CRASH-6']);
  });
});

it('a server that acknowledges writes before it performs them fails within a few kills', async () => {
  const crashed = await temporaryFolder();
  onTestFinished(crashed.remove);
  const reports = await runCrashes({ rounds: 40, seed: 5, folder: crashed.path, acknowledgesEarly: true });
  expect(reports.at(-1)?.problems).toContainEqual({ rule: 'CRASH-1', detail: expect.stringContaining('lost') });
});
