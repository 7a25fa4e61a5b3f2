import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type DeviceWorld, makeDevices } from '../device-world.ts';
import { startListeners } from '../listeners.ts';
import type { Row } from '../row.ts';

const LISTENERS = 10_000;
const BYTES_PER_LISTENER_MAX = 20_000;
/** Some milliseconds to gather changes, then ten thousand sockets to write to, on the same machine as those who read. */
const HEARD_WITHIN_MS_MAX = 1_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What devices that only listen cost in memory, and how soon all of them know of a change. */
export async function listening(world: DeviceWorld): Promise<readonly Row[]> {
  const devices = await makeDevices(world, LISTENERS);
  // The first ones warm up what all of them share.
  const few = await startListeners({ port: world.port, tokens: devices.slice(0, 100).map(({ token }) => token) });
  const before = residentBytes();
  const many = await startListeners({ port: world.port, tokens: devices.slice(100).map(({ token }) => token) });
  const perListener = (residentBytes() - before) / (LISTENERS - 100);
  const heard = Promise.all([few.heard(), many.heard()]);
  const pushedMs = performance.timeOrigin + performance.now();
  await world.push('Product', { 'the one': { changed: pushedMs } });
  const times = (await heard).flat().map((atMs) => atMs - pushedMs);
  few.close();
  many.close();
  const sorted = times.sort((left, right) => left - right);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
  return [
    {
      name: `memory of a device that listens (${LISTENERS.toLocaleString('en')} of them)`,
      measured: `${Math.round(perListener).toLocaleString('en')} bytes`,
      against: `${BYTES_PER_LISTENER_MAX.toLocaleString('en')} bytes`,
      ratio: perListener / BYTES_PER_LISTENER_MAX,
      bound: { atMost: 1 },
    },
    {
      name: `all of them know of a push`,
      measured: `first ${at(0).toFixed(0)} ms, half ${at(0.5).toFixed(0)} ms, last ${at(0.9999).toFixed(0)} ms`,
      against: `${HEARD_WITHIN_MS_MAX} ms`,
      ratio: at(0.9999) / HEARD_WITHIN_MS_MAX,
      bound: { atMost: 1 },
    },
  ];
}

function residentBytes(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().rss;
}
