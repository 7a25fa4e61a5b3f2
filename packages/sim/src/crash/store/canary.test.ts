import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Tidemark } from '@tidemark/core';
import { Dice, seededRandom, type TemporaryFolder, temporaryFolder } from '@tidemark/testing/kit';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { checkStore } from './check-store.ts';
import { partitionOf } from './names.ts';
import { openTidemark } from './open-tidemark.ts';
import type { Operation } from './operation.ts';
import { performOperation } from './perform-operation.ts';
import { runCrashes } from './run-crashes.ts';
import { World } from './world.ts';

// The checker is only worth something if it fails when it should.

const WRITER = 1;
const MANY = { first: 0, count: 2_500, salt: 7 } as const;
const FEW = { first: 0, count: 3, salt: 8 } as const;

let folder: TemporaryFolder;
let tidemark: Tidemark;
let world: World;

beforeEach(async () => {
  folder = await temporaryFolder();
  tidemark = await openTidemark(join(folder.path, 'store'));
  world = new World();
  await acknowledge({ kind: 'declare_source', room: 'shared' });
  await acknowledge({ kind: 'declare_source', room: 'own' });
  await acknowledge({ kind: 'create_user' });
  await acknowledge({ kind: 'register_client' });
  await acknowledge({ kind: 'push_objects', room: 'own', objects: FEW });
  await acknowledge({ kind: 'pull', room: 'own', token: null, objectsMax: 500 });
});

afterEach(async () => {
  await tidemark.store.close();
  await folder.remove();
});

async function acknowledge(operation: Operation): Promise<void> {
  begin(operation);
  world.hear({ say: 'done', writer: WRITER, answer: await performOperation(tidemark, WRITER, operation) });
}

function begin(operation: Operation): void {
  world.hear({ say: 'begin', writer: WRITER, operation });
}

async function rulesBroken(): Promise<string[]> {
  const { problems } = await checkStore(tidemark, world, new Dice(seededRandom(1)));
  return [...new Set(problems.map(({ rule }) => rule))].sort();
}

describe('what the checker reports', () => {
  it('nothing, when nothing is wrong', async () => {
    begin({ kind: 'push_objects', room: 'own', objects: MANY });
    expect(await rulesBroken()).toEqual([]);
    expect(await rulesBroken()).toEqual([]);
  });

  it('nothing, when what was under way is there', async () => {
    const operation: Operation = { kind: 'push_objects', room: 'own', objects: MANY };
    begin(operation);
    await performOperation(tidemark, WRITER, operation);
    expect(await rulesBroken()).toEqual([]);
  });

  it('an acknowledgement of what was never done', async () => {
    begin({ kind: 'push_objects', room: 'own', objects: { ...FEW, first: 10 } });
    world.hear({ say: 'done', writer: WRITER, answer: { kind: 'done' } });
    expect(await rulesBroken()).toEqual(['CRASH-1']);
  });

  it("an object that went behind the store's back", async () => {
    expect(await rulesBroken()).toEqual([]);
    const changes = [{ id: 'w1-0', record: null, checksum: 0 }];
    await tidemark.store.commit({ partition: partitionOf(WRITER, 'own'), changes, guards: [] });
    expect(await rulesBroken()).toEqual(['CRASH-3']);
  });

  it('a record that was exchanged without its checksum', async () => {
    const changes = [{ id: 'w1-0', record: '"w1-0":{"a":"forged"}', checksum: 5 }];
    await tidemark.store.commit({ partition: partitionOf(WRITER, 'own'), changes, guards: [] });
    expect(await rulesBroken()).toEqual(['CRASH-1', 'CRASH-4']);
  });

  it('a batch of which a part is there', async () => {
    begin({ kind: 'push_objects', room: 'own', objects: MANY });
    await performOperation(tidemark, WRITER, { kind: 'push_objects', room: 'own', objects: { ...MANY, count: 2_000 } });
    expect(await rulesBroken()).toEqual(['CRASH-2']);
  });

  it('a user of whom a part is gone', async () => {
    begin({ kind: 'delete_user' });
    await tidemark.store.writeEntries({ writes: [{ kind: 'user', key: ['u1'], value: null }], guards: [] });
    expect(await rulesBroken()).toContain('CRASH-2');
  });

  it('a store that fell back to an earlier state', async () => {
    const store = join(folder.path, 'store');
    const copy = join(folder.path, 'copy');
    await tidemark.store.close();
    cpSync(store, copy, { recursive: true });
    tidemark = await openTidemark(store);
    await acknowledge({ kind: 'push_objects', room: 'own', objects: { ...FEW, salt: 9 } });
    await tidemark.store.close();
    rmSync(store, { recursive: true });
    cpSync(copy, store, { recursive: true });
    tidemark = await openTidemark(store);
    expect(await rulesBroken()).toEqual(['CRASH-1', 'CRASH-5']);
  });

  it('a seq that was given to something else', async () => {
    const store = join(folder.path, 'store');
    const copy = join(folder.path, 'copy');
    await tidemark.store.close();
    cpSync(store, copy, { recursive: true });
    tidemark = await openTidemark(store);
    begin({ kind: 'push_objects', room: 'own', objects: { ...FEW, salt: 9 } });
    await performOperation(tidemark, WRITER, { kind: 'push_objects', room: 'own', objects: { ...FEW, salt: 9 } });
    expect(await rulesBroken()).toEqual([]);
    await tidemark.store.close();
    rmSync(store, { recursive: true });
    cpSync(copy, store, { recursive: true });
    tidemark = await openTidemark(store);
    await performOperation(tidemark, WRITER, { kind: 'push_objects', room: 'own', objects: { ...FEW, salt: 10 } });
    expect(await rulesBroken()).toEqual(['CRASH-3', 'CRASH-5']);
  });

  it('a device that was told to start over for no reason', async () => {
    world.deliver(WRITER, { token: '1.e.5.b5.0', more: false, reset: true, size: 0, checksum: 0 });
    expect((await checkStore(tidemark, world, new Dice(seededRandom(1)))).problems).toContainEqual({
      rule: 'CRASH-6',
      detail: expect.stringContaining('was told to start over'),
    });
  });
});

it('a server that acknowledges before it has written does not survive a few kills', async () => {
  const place = await temporaryFolder();
  onTestFinished(place.remove);
  const reports = await runCrashes({ rounds: 40, seed: 5, folder: place.path, isLiar: true });
  expect(reports.at(-1)?.problems).toContainEqual({ rule: 'CRASH-1', detail: expect.stringContaining('lost') });
});
