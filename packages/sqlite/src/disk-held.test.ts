import type { QueryOptions } from '@tidemark/client';
import { expect, it } from 'vitest';
import { idsOf, openOnDisk, openServer, openWatchedStore, parts } from './testing/disk-fixture.ts';

/** More than the SDK keeps of what nothing shows. */
const MANY = 2_500;

it('[DISK-11] only the last objects that were read stay in memory when they are not shown any more', async () => {
  const server = await openServer();
  await server.push('Part', parts(MANY), { user: 'ada' });
  const device = await openOnDisk(server, await openWatchedStore());
  await device.sync();
  const source = device.source('Part');
  const shown = source.query({ orderBy: 'n', limit: 3 });
  shown.subscribe(() => undefined);
  await shown.fetch();
  const ids = Object.keys(parts(MANY));
  for (const id of ids) await source.fetch(id);
  const held = ids.filter((id) => source.get(id) !== undefined);
  expect(held.length).toBeLessThan(1_500);
  expect(held.slice(0, 3)).toEqual(idsOf(shown.getSnapshot()));
  expect(held.at(-1)).toBe(ids.at(-1));
});

it('[DISK-11] a draft may need more objects than stay in memory, and is not made again for each of them', async () => {
  const server = await openServer();
  await server.push('Part', parts(MANY), { user: 'ada' });
  const device = await openOnDisk(server, await openWatchedStore());
  await device.sync();
  // Loads them, and changes nothing.
  await device.write((draft) => {
    for (const [id, object] of Object.entries(parts(1_200))) draft.update('Part', id, object);
  });
  server.network.goOffline();
  let calls = 0;
  await device.write((draft) => {
    if (++calls > 10) throw new Error('the draft is made again and again');
    for (const id of Object.keys(parts(2_000))) draft.update('Part', id, { note: 1 });
  });
  expect([device.uploads.list().length, calls < 6]).toEqual([2_000, true]);
  await expect(
    device.write((draft) => {
      draft.update('Part', 'p02400', { note: 1 });
      draft.update('Part', 'none', { note: 1 });
    }),
  ).rejects.toMatchObject({ code: 'object_not_found' });
  expect(device.uploads.list().length).toBe(2_000);
});

const optionsOf = (n: number): QueryOptions<{ n: number }> => ({ where: { n: { gte: n } }, orderBy: 'n', limit: 1 });

it('[DISK-3] a query that was left for others shows nothing of a user who is gone when it is asked again', async () => {
  const server = await openServer();
  await server.push('Part', parts(3), { user: 'ada' });
  const device = await openOnDisk(server, await openWatchedStore());
  await device.sync();
  const source = device.source<{ n: number }>('Part');
  const first = source.query(optionsOf(0));
  expect(idsOf(await first.fetch())).toEqual(['p00000']);
  for (let n = 1; n < 200; n++) source.query(optionsOf(n)).getSnapshot();
  await device.signOut();
  await device.signIn({ login: 'bob', password: server.password });
  expect([first.getSnapshot(), first.isLoading]).toEqual([[], true]);
  expect(await first.fetch()).toEqual([]);
});

it('[DISK-3] the same options give the same query, however many are live', async () => {
  const server = await openServer();
  await server.push('Part', parts(3), { user: 'ada' });
  const device = await openOnDisk(server, await openWatchedStore());
  await device.sync();
  for (const name of ['Part', 'Other']) {
    const source = device.source<{ n: number }>(name);
    for (let n = 0; n < 150; n++) source.query(optionsOf(n)).subscribe(() => undefined);
    const query = source.query(optionsOf(1_000));
    expect(source.query(optionsOf(1_000))).toBe(query);
  }
});
