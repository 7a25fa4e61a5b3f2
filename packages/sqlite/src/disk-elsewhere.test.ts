import { memoryStore } from '@tidemark/client';
import { expect, it } from 'vitest';
import { openOnDisk, openServer, openWatchedStore, parts } from './testing/disk-fixture.ts';

it('[DISK-10] a report about the device counts the objects on the disk, and has them if the app asks for data', async () => {
  const server = await openServer();
  await server.push('Part', parts(3_000), { user: 'ada' });
  const device = await openOnDisk(server, await openWatchedStore());
  await device.sync();
  server.network.goOffline();
  const source = device.source('Part');
  await source.update('p00001', { n: -1 });
  await source.delete('p00002');
  await source.create({ n: 5 }, { id: 'new' });
  await source.create({ n: 6 }, { id: 'newer' });
  const { sources, data } = await device.debug({ includeData: true });
  expect(sources.map(({ name, objects }) => [name, objects])).toEqual([['Part', 3_001]]);
  const { p00002: _, ...others } = parts(3_000);
  expect(data?.Part).toEqual({ ...others, p00001: { n: -1 }, new: { n: 5 }, newer: { n: 6 } });
});

it('[DISK-10] the files that a rule wants of a source on the disk are fetched in advance', async () => {
  const server = await openServer({ sources: [{ name: 'Part' }, { name: 'Note' }] });
  const camera = await server.openDevice({ user: 'ada' });
  const added = [1, 2, 3, 4].map((n) => camera.files.add(new Uint8Array(1_000).fill(n), { type: 'image/jpeg' }));
  const [photo, old, fresh, late] = await Promise.all(added);
  if (!(photo && old && fresh && late)) throw new Error('four files were added');
  await camera.source('Part').create({ photo });
  await camera.source('Note').create({ at: 1, photo: old }, { id: 'old' });
  await camera.source('Note').create({ at: 2, photo: fresh }, { id: 'fresh' });
  await expect.poll(() => camera.files.waiting.getSnapshot(), { timeout: 60_000 }).toEqual([]);
  await camera.sync();
  await server.push('Part', parts(2_500), { user: 'ada' });
  const files = { prefetch: { Part: 'all', Note: { newest: 1, by: 'at' } } } as const;
  const store = { ...memoryStore(), ...(await openWatchedStore()) };
  const device = await openOnDisk(server, store, { user: 'ada', files }, ['Part', 'Note']);
  await device.sync();
  const statuses = () => [photo, old, fresh, late].map((file) => device.files.state(file).getSnapshot().status);
  await expect.poll(statuses, { timeout: 60_000 }).toEqual(['uploaded', 'missing', 'uploaded', 'missing']);
  await camera.source('Part').create({ photo: late });
  await camera.sync();
  await device.sync();
  await expect.poll(statuses, { timeout: 60_000 }).toEqual(['uploaded', 'missing', 'uploaded', 'uploaded']);
});
