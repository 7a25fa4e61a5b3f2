import type { Ping, PingResult } from '@tidemark/protocol';
import { expect, it } from 'vitest';
import { lastPingsOf, RESULTS_READ } from './device-pings.ts';

const PING = { ping_id: 'p1', devices: 1 } as Ping;

/** The pings of a server with one ping, and how many pages of its results were read. */
function pingTo(ids: readonly string[]) {
  const results = ids.toSorted().map((client_id) => ({ client_id, status: 'sent' }) as PingResult);
  const reads = { count: 0 };
  const api = {
    list: async () => [PING],
    get: async (_id: string, { after = '', limit = 0 }: { readonly after?: string; readonly limit?: number } = {}) => {
      reads.count += 1;
      return { ...PING, results: results.filter(({ client_id }) => client_id > after).slice(0, limit) };
    },
  };
  return { api, reads };
}

const alike = (count: number) =>
  Array.from({ length: count }, (_, index) => `device-${String(index).padStart(4, '0')}`);

it('[CONSOLE-29] the ping of a device is found behind pages of devices whose ids begin alike', async () => {
  // All ids sort between the id without its last character and the id.
  const device = 'device-9';
  const { api, reads } = pingTo([...alike(3 * RESULTS_READ + 1), device]);
  expect(await lastPingsOf(api, device)).toEqual([{ ping: 'p1', result: { client_id: device, status: 'sent' } }]);
  expect(reads.count).toBe(4);
});

it('[CONSOLE-29] a device that a ping did not go to has no result, and reading ends behind its id', async () => {
  const { api, reads } = pingTo([...alike(RESULTS_READ), ...alike(2 * RESULTS_READ).map((id) => `z${id}`)]);
  expect(await lastPingsOf(api, 'device-9')).toEqual([]);
  expect(reads.count).toBe(2);
  expect(await lastPingsOf(pingTo([]).api, 'device-9')).toEqual([]);
});
