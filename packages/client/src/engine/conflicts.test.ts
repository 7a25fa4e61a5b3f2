import type { Device, MergeFunction } from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, expect, it } from 'vitest';

let fixture: DeviceFixture;

const push = (objects: Record<string, Record<string, unknown>>) =>
  fixture.tidemark.objects.push({ source: 'Strict', user_id: 'ada', objects });

const onServer = async () =>
  Object.fromEntries(await fixture.tidemark.objects.read({ source: 'Strict', user_id: 'ada' }));

beforeEach(async () => {
  fixture = await newDeviceFixture();
  await fixture.tidemark.sources.declare({ name: 'Strict', partition_type: 'user', conflicts: 'detect' });
  await push({ o: { a: 1, b: 1, c: 1 } });
});

/** A device that changed `a`, `b` and `c` offline while somebody else changed `b`. */
async function conflicting(merge?: MergeFunction, thenOffline?: (device: Device) => Promise<void>): Promise<Device> {
  const device = await fixture.open(merge === undefined ? {} : { merge: { Strict: merge } });
  await fixture.finish(device.sync());
  fixture.platform.setOnline(false);
  await device.source('Strict').update('o', { a: 'mine', b: 'mine', c: undefined });
  await thenOffline?.(device);
  await push({ o: { b: 'theirs' } });
  fixture.platform.setOnline(true);
  return device;
}

const converged = async (device: Device) => {
  await fixture.platform.until(() => device.uploads.list().length === 0);
  await fixture.finish(device.sync());
  return device.source('Strict').get('o')?.attributes;
};

it('[UP-18] only the attributes in conflict are rolled back, and the others are uploaded', async () => {
  const device = await conflicting();
  const looks: unknown[] = [];
  device.source('Strict').subscribe(() => looks.push(device.source('Strict').get('o')?.attributes));
  await fixture.finish(device.sync());
  expect(await converged(device)).toEqual({ a: 'mine', b: 'theirs' });
  expect(await onServer()).toEqual({ o: { a: 'mine', b: 'theirs' } });
  expect(device.problems.list()).toMatchObject([
    { status: 'conflict', attributes: { b: 'mine' }, current: { b: 'theirs' } },
  ]);
  // What is not in conflict never flickers.
  for (const look of looks) expect(look).toMatchObject({ a: 'mine' });
});

it('[UP-18] what later uploads have changed is not overwritten by the rest of an update in conflict', async () => {
  const device = await conflicting();
  let isFirst = true;
  fixture.intercept = ({ path }, go) => {
    if (path !== '/push' || !isFirst) return undefined;
    isFirst = false;
    // The next change is made while the update in conflict is in flight.
    return device.source('Strict').update('o', { a: 'later' }).then(go);
  };
  await fixture.finish(device.sync());
  expect(await converged(device)).toEqual({ a: 'later', b: 'theirs' });
  expect(await onServer()).toEqual({ o: { a: 'later', b: 'theirs' } });
});

it('[UP-18] what a later upload of the same push has removed is not set again by the rest of an update in conflict', async () => {
  await push({ other: { a: 1 } });
  const device = await conflicting(undefined, async (offline) => {
    // The change of another object keeps the two updates apart.
    await offline.source('Strict').update('other', { a: 2 });
    await offline.source('Strict').update('o', { a: undefined });
  });
  await fixture.finish(device.sync());
  expect(await converged(device)).toEqual({ b: 'theirs' });
  expect(await onServer()).toEqual({ o: { b: 'theirs' }, other: { a: 2 } });
});

it('[UP-19] a problem is resolved by writing attributes on the current state', async () => {
  const device = await conflicting();
  await fixture.finish(device.sync());
  await converged(device);
  const [problem] = device.problems.list();
  await device.problems.resolve(problem?.opId ?? '', { b: 'both', c: 2 });
  expect(device.problems.list()).toEqual([]);
  expect(await converged(device)).toEqual({ a: 'mine', b: 'both', c: 2 });
  expect([await onServer(), device.problems.list()]).toEqual([{ o: { a: 'mine', b: 'both', c: 2 } }, []]);
  await expect(device.problems.resolve('x', { b: 1 })).rejects.toMatchObject({ code: 'unknown_upload' });
});

it('[UP-19] resolving creates an object that was deleted meanwhile', async () => {
  const device = await fixture.open();
  await fixture.finish(device.sync());
  fixture.platform.setOnline(false);
  await device.source('Strict').update('o', { a: 'mine' });
  await fixture.tidemark.objects.pushDeletes({ source: 'Strict', user_id: 'ada', objects: ['o'] });
  fixture.platform.setOnline(true);
  await fixture.finish(device.sync());
  const [problem] = device.problems.list();
  expect([problem?.error.code, problem?.current]).toEqual(['object_not_found', null]);
  await device.problems.resolve(problem?.opId ?? '', { b: 2 });
  expect(await converged(device)).toEqual({ a: 'mine', b: 2 });
});

it('[UP-20] a merge function solves conflicts of its source without the app', async () => {
  const seen: unknown[] = [];
  const problems: unknown[] = [];
  const device = await conflicting((conflict) => {
    seen.push(conflict);
    return { b: `${String(conflict.theirs?.b)} and ${String(conflict.mine?.b)}` };
  });
  device.on('problem', (problem) => problems.push(problem));
  await fixture.finish(device.sync());
  await fixture.platform.until(() => device.problems.list().length === 0);
  expect(await converged(device)).toEqual({ a: 'mine', b: 'theirs and mine' });
  expect(await onServer()).toEqual({ o: { a: 'mine', b: 'theirs and mine' } });
  expect(seen).toMatchObject([{ id: 'o', mine: { b: 'mine' }, removed: [], theirs: { b: 'theirs' } }]);
  expect(problems).toEqual([]);
});

it('[UP-20] a conflict that the merge function leaves alone is a problem', async () => {
  const device = await conflicting(() => null);
  const problems: unknown[] = [];
  device.on('problem', (problem) => problems.push(problem));
  await fixture.finish(device.sync());
  await fixture.platform.until(() => problems.length === 1);
  expect(device.problems.list()).toMatchObject([{ attributes: { b: 'mine' } }]);
});
