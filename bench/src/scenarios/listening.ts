import { type DeviceFixture, makeDevices, openDeviceFixture } from '../device-fixture.ts';
import { startListeners } from '../listeners.ts';
import type { Row } from '../row.ts';

const LISTENERS = 10_000;
/** Those who come first warm up what all of them share. */
const FIRST = 500;
const BYTES_PER_LISTENER_MAX = 20_000;
/** Some milliseconds to gather changes, then ten thousand sockets to write to, on the same machine as those who read. */
const HEARD_WITHIN_MS_MAX = 1_000;

/** What devices that only listen cost in memory, and how soon all of them know of a change. */
export async function listening(): Promise<readonly Row[]> {
  const { fixture, prepared: devices } = await openDeviceFixture(async (tidemark) => {
    await tidemark.sources.declare({ name: 'Product', partition_type: 'app' });
    return makeDevices(tidemark, LISTENERS);
  });
  const tokens = devices.map(({ token }) => token);
  const few = await startListeners({ port: fixture.port, tokens: tokens.slice(0, FIRST) });
  const before = await fixture.server.memoryBytes();
  const many = await startListeners({ port: fixture.port, tokens: tokens.slice(FIRST) });
  const after = await fixture.server.memoryBytes();
  const heard = await timesOfHearing(fixture, [few, many]);
  few.close();
  many.close();
  await fixture.close();
  return [memoryRow((after - before) / (LISTENERS - FIRST)), hearingRow(heard)];
}

/** Milliseconds after a push began at which each of them knew of it, sorted. */
async function timesOfHearing(
  fixture: DeviceFixture,
  listeners: readonly Awaited<ReturnType<typeof startListeners>>[],
): Promise<readonly number[]> {
  await fixture.push('Product', { 'the first one': { a: 1 } });
  await Promise.all(listeners.map((some) => some.heard()));
  const heard = Promise.all(listeners.map((some) => some.heard()));
  const pushedMs = performance.timeOrigin + performance.now();
  await fixture.push('Product', { 'the one': { a: 1 } });
  return (await heard)
    .flat()
    .map((atMs) => atMs - pushedMs)
    .sort((left, right) => left - right);
}

function memoryRow(perListener: number): Row {
  return {
    name: `memory of a device that listens (${LISTENERS.toLocaleString('en')} of them)`,
    measured: `${Math.round(perListener).toLocaleString('en')} bytes`,
    against: `${BYTES_PER_LISTENER_MAX.toLocaleString('en')} bytes`,
    ratio: perListener / BYTES_PER_LISTENER_MAX,
    bound: { atMost: 1 },
  };
}

function hearingRow(heard: readonly number[]): Row {
  const at = (share: number) => heard[Math.floor((heard.length - 1) * share)] ?? 0;
  return {
    name: 'all of them know of a push',
    measured: `first ${at(0).toFixed(0)} ms, half ${at(0.5).toFixed(0)} ms, last ${at(1).toFixed(0)} ms`,
    against: `${HEARD_WITHIN_MS_MAX} ms`,
    ratio: at(1) / HEARD_WITHIN_MS_MAX,
    bound: { atMost: 1 },
  };
}
