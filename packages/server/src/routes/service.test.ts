import { type Guard, ServerLease } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { newTidemark, openMemoryJobs, temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { buildHttp } from '../http/app.ts';
import type { RouteContext } from '../http/route.ts';
import { recordGauges } from '../telemetry/gauges.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { addServiceRoutes, type ServiceOptions } from './service.ts';

async function openService(changes: Partial<ServiceOptions> = {}) {
  const fixture = await newTidemark();
  const { tidemark, clock } = fixture;
  const jobs = openMemoryJobs({ clock });
  const backend = { health: async () => ({ isSet: false }) };
  const providers = { names: [] };
  const context = {
    tidemark,
    jobs,
    backend,
    providers,
    nowMs: clock.nowMs,
    metrics: new Metrics(),
  } as unknown as RouteContext;
  const folder = await temporaryFolder();
  const options = { dataFolder: folder.path, isMetricsPublic: true, isReady: () => true, ...changes };
  const app = await buildHttp({ bodyBytesMax: 1_000 }, (http) => addServiceRoutes(http, context, options));
  onTestFinished(async () => {
    await app.close();
    await folder.remove();
  });
  const readiness = async () => {
    const { statusCode, headers, body } = await app.inject({ url: '/readyz' });
    const { status, durability, checks } = JSON.parse(body);
    const failed = checks.filter(({ ok }: { ok: boolean }) => !ok).map(({ name }: { name: string }) => name);
    return { statusCode, retryAfter: headers['retry-after'], status, durability, checks, failed };
  };
  return { ...fixture, app, jobs, readiness };
}

it('[REST-23] readiness covers store, disk, jobs and load, and names the durability', async () => {
  const { store, readiness } = await openService();
  const { checks, ...rest } = await readiness();
  const { durability } = store.engine;
  expect(rest).toEqual({ statusCode: 200, retryAfter: undefined, status: 'ready', durability, failed: [] });
  expect(checks).toEqual([
    { name: 'running', ok: true, detail: 'takes requests' },
    { name: 'load', ok: true, detail: 'keeps up' },
    { name: 'store', ok: true, detail: 'writes' },
    { name: 'disk', ok: true, detail: expect.stringMatching(/^[0-9]+\.[0-9] GB free$/) },
    { name: 'jobs', ok: true, detail: 'the oldest due job has waited 0 ms' },
  ]);
});

it('[REST-23] a server whose store does not write is not ready', async () => {
  const { store, readiness } = await openService();
  store.addStats = async () => {
    throw new Refusal('store_full', 'the disk is full');
  };
  expect(await readiness()).toMatchObject({ statusCode: 503, retryAfter: '1', status: 'not_ready', failed: ['store'] });
});

it.each([
  ['that is stopping', { isReady: () => false }, 'running'],
  ['that cannot keep up', { gauge: { overload: () => 'too much' } }, 'load'],
  ['whose disk cannot be read', { dataFolder: '/nowhere/at/all' }, 'disk'],
] as const)('[REST-23] a server %s is not ready', async (_what, changes, failed) => {
  expect(await (await openService(changes)).readiness()).toMatchObject({ statusCode: 503, failed: [failed] });
});

it('[REST-41] a server that is stopping reports that it is draining', async () => {
  const service = await openService({ isReady: () => false });
  expect(await service.readiness()).toMatchObject({ statusCode: 503, status: 'draining' });
});

it('[REST-23] the lag of jobs is reported without affecting readiness, and a paused queue has none', async () => {
  const { jobs, clock, readiness } = await openService();
  const job = { kind: 'k', payload: '{}', attemptsMax: 1 };
  await jobs.enqueue('slow', job);
  clock.advance(90_000);
  await jobs.enqueue('quick', job);
  clock.advance(500);
  const lag = async () => (await readiness()).checks.at(-1);
  expect(await lag()).toEqual({ name: 'jobs', ok: true, detail: 'the oldest due job has waited 90500 ms' });
  await jobs.pause('slow');
  expect(await lag()).toMatchObject({ detail: 'the oldest due job has waited 500 ms' });
  jobs.queues = () => Promise.reject(new Error('the file is gone'));
  expect(await readiness()).toMatchObject({ statusCode: 503, failed: ['jobs'] });
});

it('[STATS-10] users, clients, listeners and jobs are measured once per step', async () => {
  const { tidemark, jobs, clock, store } = await openService();
  const lease = new ServerLease({ store, clock }, { name: 'maintenance', serverId: 'this server', leaseMs: 1_000_000 });
  await lease.renew();
  const fence = lease.fence as Guard;
  const parts = { tidemark, jobs, listeners: async () => 7 };
  const last = async (metric: string) => (await tidemark.stats.read({ metric, start: -1 })).at(0);
  await jobs.enqueue('q', { kind: 'k', payload: '{}', attemptsMax: 1 });
  expect(await recordGauges(parts, fence, clock.nowMs())).toBe(true);
  expect([await last('users'), await last('clients'), await last('listeners')]).toMatchObject([
    { count: 1, sum: 2, min: 2, max: 2 },
    { count: 1, sum: 0, min: 0, max: 0 },
    { count: 1, sum: 7, min: 7, max: 7 },
  ]);
  expect(await last('queues:q:depth')).toMatchObject({ count: 1, sum: 1 });
  await tidemark.clients.register('ada', {});
  await tidemark.users.delete('bob');
  expect(await recordGauges(parts, fence, clock.nowMs())).toBe(false);
  expect(await last('users')).toMatchObject({ count: 1, sum: 2 });
  clock.advance(60_000);
  expect(await recordGauges(parts, fence, clock.nowMs())).toBe(true);
  expect([await last('users'), await last('clients')]).toMatchObject([
    { count: 1, sum: 1 },
    { count: 1, sum: 1 },
  ]);
});

it('[METRICS-2] a request whose method its path does not take is counted under that path', async () => {
  const { app } = await openService();
  for (const url of ['/healthz', '/healthz?probe=1', '/nowhere']) await app.inject({ method: 'DELETE', url });
  const { body } = await app.inject({ url: '/metrics' });
  const counted = body.split('\n').filter((line) => line.startsWith('tidemark_http_requests_total{'));
  expect(counted).toEqual([
    'tidemark_http_requests_total{method="DELETE",route="/healthz",status="405"} 2',
    'tidemark_http_requests_total{method="DELETE",route="unknown",status="404"} 1',
  ]);
});
