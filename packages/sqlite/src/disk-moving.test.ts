import { expect, it } from 'vitest';
import { openOnDisk, openServer, openWatchedStore, parts } from './testing/disk-fixture.ts';

it('[DISK-5] two sources that move to memory are both complete when one of their queries says so', async () => {
  const server = await openServer({ sources: [{ name: 'Part' }, { name: 'Line' }] });
  await server.push('Part', parts(30), { user: 'ada' });
  await server.push('Line', parts(30), { user: 'ada' });
  const store = await openWatchedStore();
  let device = await openOnDisk(server, store, { user: 'ada' }, ['Part', 'Line']);
  await device.sync();
  await device.close();
  server.network.goOffline();
  device = await server.openDevice({ store });
  const [a, b] = ['Part', 'Line'].map((name) => device.source(name, { keep: 'memory' }).query());
  const all = await Promise.all([a?.fetch(), b?.fetch()]);
  expect(all.map((rows) => rows?.length)).toEqual([30, 30]);
});

it('[DISK-5] one source can move to memory while another one moves to the disk', async () => {
  const server = await openServer({ sources: [{ name: 'Part' }, { name: 'Line' }] });
  await server.push('Part', parts(30), { user: 'ada' });
  await server.push('Line', parts(30), { user: 'ada' });
  const store = await openWatchedStore();
  let device = await openOnDisk(server, store, { user: 'ada' }, ['Part']);
  await device.sync();
  await device.close();
  server.network.goOffline();
  device = await server.openDevice({ store });
  const a = device.source('Line', { keep: 'disk' }).query();
  const b = device.source('Part', { keep: 'memory' }).query();
  const all = await Promise.all([a.fetch(), b.fetch()]);
  expect(all.map((rows) => rows.length)).toEqual([30, 30]);
  await device.source('Part').update('p00003', { n: 1 });
  expect(device.source('Part').list().length).toBe(30);
});
