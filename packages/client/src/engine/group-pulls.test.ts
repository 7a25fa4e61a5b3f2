import type { Device } from '@tidemark/client';
import type { GroupPages, PullAnswer, PullRequest } from '@tidemark/protocol';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, expect, it } from 'vitest';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
  await fixture.tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
});

const push = (group: string, objects: Record<string, Record<string, unknown>>) =>
  fixture.tidemark.objects.push({ source: 'Visit', group, objects });

const idsOn = (device: Device) =>
  device
    .source('Visit')
    .list()
    .map(({ id }) => id);

/** Changes the answers of the server, and notes when it was asked, and for what. */
function onPull(change: (answer: GroupPages) => GroupPages) {
  const pulls: { readonly atMs: number; readonly asked: PullRequest['sources'][string] | undefined }[] = [];
  fixture.intercept = ({ path, body }, go) => {
    if (path !== '/pull') return undefined;
    // A device that pulls without end must fail the test, not hang it.
    if (pulls.length > 100) return Promise.reject(new TypeError('too many pulls'));
    pulls.push({ atMs: fixture.platform.nowMs(), asked: (body as PullRequest).sources.Visit });
    return go().then(async (response) => {
      const answer = (await response.json()) as PullAnswer;
      const { Visit: visit } = answer.sources;
      if (visit === undefined) return Response.json(answer);
      return Response.json({ ...answer, sources: { ...answer.sources, Visit: change(visit as GroupPages) } });
    });
  };
  return pulls;
}

it('[SDK-30] a device whose server says that there is more and sends nothing shows what it has, and asks again after growing pauses', async () => {
  await fixture.tidemark.groups.set('ada', ['north', 'south']);
  await push('north', { n: { a: 1 } });
  let isLying = true;
  const pulls = onPull((visit) => (isLying ? { ...visit, more: true } : visit));
  const device = await fixture.open({ sources: ['Visit'] });
  const synced = fixture.finish(device.sync());
  await fixture.platform.until(() => pulls.length >= 12);
  expect(idsOn(device)).toEqual(['n']);
  const pauses = pulls.slice(1).map(({ atMs }, index) => atMs - (pulls[index]?.atMs ?? 0));
  // After the first answers nothing is new: the set token has come, and stands for all groups.
  expect(pauses.filter((pauseMs) => pauseMs === 0).length).toBeLessThan(5);
  expect(Math.max(...pauses)).toBeGreaterThan(10_000);
  expect(device.status.getSnapshot()).toMatchObject({ error: null, heals: 0 });
  isLying = false;
  await push('south', { s: { a: 1 } });
  await synced;
  expect(idsOn(device)).toEqual(['n', 's']);
});

it('[SDK-30] a device whose server has nothing but errors for some groups shows the others, and the status tells the error', async () => {
  await fixture.tidemark.groups.set('ada', ['north', 'south']);
  await push('north', { n: { a: 1 } });
  const error = { code: 'backend_unavailable', detail: 'the backend cannot be reached' };
  const pulls = onPull(({ groups, ...rest }) => ({ ...rest, groups: { ...groups, south: { error } }, more: true }));
  const device = await fixture.open({ sources: ['Visit'] });
  await fixture.finish(device.sync());
  expect(idsOn(device)).toEqual(['n']);
  expect([...device.status.getSnapshot().sourceTroubles]).toEqual([['Visit', error]]);
  expect(device.status.getSnapshot()).toMatchObject({ mode: 'idle', error: null });
  const before = pulls.length;
  await fixture.finish(device.sync());
  expect(pulls.length).toBe(before + 1);
});

it('[GROUP-20] an object that moves to a group whose page comes with a later answer is never missing', async () => {
  const names = Array.from({ length: 120 }, (_, index) => `g${String(index).padStart(3, '0')}`);
  const [first = '', last = ''] = [names[0], names.at(-1)];
  await fixture.tidemark.groups.set('ada', names);
  await push(first, { moved: { a: 1 } });
  const device = await fixture.open({ sources: ['Visit'] });
  await fixture.finish(device.sync());
  for (const name of names) await push(name, { [name]: { a: 1 } });
  await fixture.tidemark.objects.move({ source: 'Visit', from: first, to: last, objects: ['moved'] });
  const looks: { readonly size: number; readonly hasMoved: boolean }[] = [];
  device.source('Visit').subscribe(() => {
    const ids = idsOn(device);
    looks.push({ size: ids.length, hasMoved: ids.includes('moved') });
  });
  const answers: boolean[] = [];
  onPull((visit) => {
    answers.push(visit.more);
    return visit;
  });
  await fixture.finish(device.sync());
  expect(answers.slice(0, 2)).toEqual([true, expect.any(Boolean)]);
  expect(looks).toEqual([{ size: 121, hasMoved: true }]);
});

it('[GROUP-20] an object that moves out of a group that the user leaves is never missing when the other page comes later', async () => {
  await fixture.tidemark.groups.set('ada', ['north', 'south']);
  await push('north', { moved: { a: 1 } });
  const device = await fixture.open({ sources: ['Visit'] });
  await fixture.finish(device.sync());
  await fixture.tidemark.objects.move({ source: 'Visit', from: 'north', to: 'south', objects: ['moved'] });
  await fixture.tidemark.groups.set('ada', ['south']);
  const looks: (readonly string[])[] = [];
  device.source('Visit').subscribe(() => looks.push(idsOn(device)));
  let answers = 0;
  onPull((visit) => (++answers === 1 ? { groups: {}, gone: ['north'], more: true } : visit));
  await fixture.finish(device.sync());
  expect([answers > 1, idsOn(device)]).toEqual([true, ['moved']]);
  expect(looks.filter((ids) => !ids.includes('moved'))).toEqual([]);
});

it('[GROUP-31] following the same groups again does not extend the time for which others are kept', async () => {
  await fixture.tidemark.groups.set('ada', ['north', 'south']);
  await push('north', { n: { a: 1 } });
  await push('south', { s: { a: 1 } });
  const device = await fixture.open({ sources: ['Visit'] });
  await fixture.finish(device.sync());
  const follow = () => fixture.finish(device.source('Visit').follow({ groups: ['south'], keepForMs: 60_000 }));
  await follow();
  await fixture.platform.advance(40_000);
  await follow();
  expect(idsOn(device)).toEqual(['n', 's']);
  await fixture.platform.advance(20_000);
  await fixture.finish(device.sync());
  expect(idsOn(device)).toEqual(['s']);
});
