import assert from 'node:assert/strict';
import { Rng, seededRandom } from '@tidemark/client-testing';
import { groupPartition, type PartitionKey, type Store, sharedPartition, userPartition } from '@tidemark/core';
import { put, remove } from './change.ts';
import { committed } from './store-assertions.ts';
import { type StoreCase, storeCase } from './store-case.ts';

const SOURCE = 'Visit';
const GROUPS = ['north', 'south', 'east', 'west'];
/** More than any engine reads as one range. */
const MANY = 1_100;
const COMMITS = 60;

/** Cases about the order of commits across the groups of a source. Not every store keeps it. */
export const changedCases: readonly StoreCase[] = [
  changedCase('partitions that got a commit after a mark are told', async ({ store }) => {
    const before = await markOf(store);
    await write(store, 'north', 'south');
    const between = await markOf(store);
    await write(store, 'south', 'east');
    const after = await markOf(store);
    assert.deepEqual(await changed(store, before), ['east', 'north', 'south']);
    assert.deepEqual(await changed(store, between), ['east', 'south']);
    assert.deepEqual(await changed(store, after), []);
    assert.deepEqual(await changed(store, before, ['north', 'west']), ['north']);
    assert.match(after, /^[\w.-]+$/);
  }),
  changedCase('commits without effect, and those to other sources and to users, are not told', async ({ store }) => {
    await write(store, 'north');
    const mark = await markOf(store);
    await committed(store, [], { partition: group('north') });
    await committed(store, [remove('unknown')], { partition: group('north') });
    await committed(store, [put('1')], { partition: groupPartition('Other', 'north') });
    await committed(store, [put('1')], { partition: userPartition(SOURCE, 'north') });
    await committed(store, [put('1')], { partition: sharedPartition(SOURCE) });
    assert.deepEqual(await changed(store, mark), []);
    await committed(store, [remove('1')], { partition: group('north') });
    assert.deepEqual(await changed(store, mark), ['north']);
  }),
  changedCase('many changes after a mark are told exactly', async ({ store }) => {
    await write(store, 'north', 'south');
    const mark = await markOf(store);
    const others = Array.from({ length: MANY }, (_, number) => `other ${number}`);
    await Promise.all(others.map((name) => write(store, name)));
    await write(store, 'south');
    assert.deepEqual(await changed(store, mark), ['south']);
    assert.deepEqual(await changed(store, mark, [...others, 'north']), [...others].sort());
    assert.deepEqual(await changed(store, await markOf(store)), []);
  }),
  changedCase('a mark that is not one of this store is not known', async ({ store }) => {
    await write(store, 'north');
    const mark = await markOf(store);
    for (const other of ['', 'x', `x${mark}`, `${mark}0`, mark.replace(/[^.]+$/, 'zzzz')]) {
      assert.equal((await ask(store, other))?.changed, null, other);
    }
    await store.reset([]);
    await write(store, 'north');
    assert.equal((await ask(store, mark))?.changed, null);
  }),
  changedCase('every mark of a random history tells the changes after it', async ({ store }) => {
    const rng = new Rng(seededRandom(79));
    const marks: { readonly mark: string; readonly after: Set<string> }[] = [];
    for (let commit = 0; commit < COMMITS; commit++) {
      marks.push({ mark: await markOf(store), after: new Set() });
      const name = rng.pick(GROUPS);
      await committed(store, [put(`${rng.below(3)}`, `${commit}`)], { partition: group(name) });
      for (const { after } of marks) after.add(name);
    }
    for (const { mark, after } of marks) assert.deepEqual(await changed(store, mark), [...after].sort());
  }),
  storeCase(
    '[STORE-79] marks are valid after the store was closed and opened again',
    async ({ store, reopen }) => {
      if ((await ask(store, null)) === null) return;
      await write(store, 'north');
      const mark = await markOf(store);
      await write(store, 'south');
      assert.deepEqual(await changed(await reopen(), mark), ['south']);
    },
    'reopen',
  ),
];

/** A case that a store which does not keep the order of commits passes. */
function changedCase(title: string, run: StoreCase['run']): StoreCase {
  return storeCase(`[STORE-79] ${title}`, async (fixture) => {
    if ((await ask(fixture.store, null)) === null) return;
    // A mark from before the first change need not be known afterwards.
    await write(fixture.store, 'first');
    await run(fixture);
  });
}

function group(name: string): PartitionKey {
  return groupPartition(SOURCE, name);
}

let writes = 0;

async function write(store: Store, ...groups: readonly string[]): Promise<void> {
  for (const name of groups) await committed(store, [put('1', `${++writes}`)], { partition: group(name) });
}

function ask(store: Store, mark: string | null, groups: readonly string[] = GROUPS) {
  return store.changedSince({ source: SOURCE, owners: groups.map((name) => group(name).owner), mark });
}

async function markOf(store: Store): Promise<string> {
  return (await ask(store, null))?.mark ?? assert.fail('there is no mark');
}

async function changed(store: Store, mark: string, groups?: readonly string[]): Promise<readonly string[]> {
  const owners = (await ask(store, mark, groups))?.changed ?? assert.fail('the mark is unknown');
  return owners.map((owner) => (owner.kind === 'group' ? owner.name : assert.fail('no group'))).sort();
}
