import { sharedPartition, userPartition } from '@tidemark/core';
import { memoryFileBytes, newTidemark } from '@tidemark/testing';
import { silentLog } from '@tidemark/testing/server';
import { expect, it } from 'vitest';
import { Metrics } from '../telemetry/metrics.ts';
import { collectFiles, trimPartitions } from './maintenance.ts';

const DAY_MS = 86_400_000;

async function readingOf(metrics: Metrics, name: string): Promise<number> {
  const [, value] = new RegExp(`^${name} (.*)$`, 'm').exec(await metrics.text()) ?? [];
  return Number(value);
}

it('[SYNC-15] tombstones that no device needs are trimmed, and metrics count partitions, sequence numbers and time', async () => {
  const { tidemark, store, clock } = await newTidemark();
  const metrics = new Metrics();
  const objects = Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`o${index}`, { a: 1 }]));
  await tidemark.objects.push({ source: 'Product', objects });
  await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects });
  await tidemark.objects.pushDeletes({ source: 'Order', user_id: 'ada', objects: ['o1', 'o2'] });
  const { client_id: client } = await tidemark.clients.register('ada', {});
  const held = await tidemark.devices.pull({ user: 'ada', client }, { sources: new Map([['Order', null]]) });
  await held.noted;
  await tidemark.objects.pushDeletes({ source: 'Order', user_id: 'ada', objects: ['o3'] });
  const floors = async () => [
    (await store.partition(sharedPartition('Product'))).floor,
    (await store.partition(userPartition('Order', 'ada'))).floor,
  ];
  await trimPartitions(tidemark, metrics, 30 * DAY_MS);
  // The device began at 7, so later tombstones stay until it has pulled them, or was not seen for the retention time.
  expect(await floors()).toEqual([5, 7]);
  expect(await readingOf(metrics, 'tidemark_trim_partitions_total')).toBe(2);
  expect(await readingOf(metrics, 'tidemark_trim_seqs_total')).toBe(12);
  expect(await readingOf(metrics, 'tidemark_trim_seconds_count')).toBe(1);
  clock.advance(31 * DAY_MS);
  await trimPartitions(tidemark, metrics, 30 * DAY_MS);
  expect(await floors()).toEqual([5, 8]);
  expect(await readingOf(metrics, 'tidemark_trim_seqs_total')).toBe(13);
  expect(await readingOf(metrics, 'tidemark_trim_seconds_count')).toBe(2);
});

it('[SYNC-15] a partition whose user or source was deleted meanwhile does not stop the trimming of others', async () => {
  const { tidemark, store } = await newTidemark();
  const metrics = new Metrics();
  await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { 1: { a: 1 } } });
  await tidemark.objects.push({ source: 'Product', objects: { 1: { a: 1 } } });
  await tidemark.objects.pushDeletes({ source: 'Product', objects: ['1'] });
  const { partitions } = store;
  store.partitions = async (list) => {
    const listed = await partitions.call(store, list);
    await tidemark.users.delete('ada').catch(() => undefined);
    return [sharedPartition('Gone'), ...listed];
  };
  await trimPartitions(tidemark, metrics, 30 * DAY_MS);
  expect((await store.partition(sharedPartition('Product'))).floor).toBe(2);
});

it('[FILES-23] a round of the collector removes what nothing refers to, counts it, and stops when it may not go on', async () => {
  const { tidemark, clock } = await newTidemark();
  const fileBytes = memoryFileBytes(clock);
  const metrics = new Metrics();
  for (let at = 0; at < 250; at++) fileBytes.put(String(at).padStart(64, '0'), 10);
  clock.advance(2 * DAY_MS);
  await collectFiles({ tidemark, metrics, fileBytes, log: silentLog() }, async () => false);
  expect(fileBytes.files.size).toBe(250);
  const warnings: object[] = [];
  const log = { ...silentLog(), warn: (event: string, fields?: object) => void warnings.push({ event, ...fields }) };
  fileBytes.onAside = (sha256) => (Number(sha256) === 7 ? Promise.reject(new Error('no disk')) : Promise.resolve());
  await collectFiles({ tidemark, metrics, fileBytes, log });
  expect(warnings).toEqual([
    { event: 'file_not_collected', what: `the file ${'7'.padStart(64, '0')}`, reason: 'no disk' },
  ]);
  expect(await readingOf(metrics, 'tidemark_files_collect_failures_total')).toBe(1);
  fileBytes.onAside = async () => {};
  await collectFiles({ tidemark, metrics, fileBytes, log });
  expect(fileBytes.files.size).toBe(0);
  expect(await readingOf(metrics, 'tidemark_files_removed_total')).toBe(249);
  expect(await readingOf(metrics, 'tidemark_files_removed_bytes_total')).toBe(2_490);
});
