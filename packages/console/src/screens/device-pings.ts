import type { PingResult } from '@tidemark/protocol';
import { client } from '../api/client.ts';

/** The result of a ping on one device. */
export interface DevicePing {
  readonly ping: string;
  readonly result: PingResult;
}

/** Pings whose results are looked through for those of a device. */
export const PINGS_READ = 10;
/** Results that are read of each of them. */
const RESULTS_READ = 10;

/** Returns the results of a device among the last pings, newest first. */
export async function lastPingsOf(device: string): Promise<readonly DevicePing[]> {
  const pings = await client.pings.list({ limit: PINGS_READ });
  const results = await Promise.all(
    pings.filter(({ devices }) => devices > 0).map(({ ping_id }) => resultOf(ping_id, device)),
  );
  return results.flat();
}

/** Results come in the order of the ids of devices, so the page that begins just before the device has its result. */
async function resultOf(ping: string, device: string): Promise<readonly DevicePing[]> {
  const before = device.slice(0, -1);
  const { results } = await client.pings.get(ping, {
    limit: RESULTS_READ,
    ...(before === '' ? {} : { after: before }),
  });
  return results.filter(({ client_id }) => client_id === device).map((result) => ({ ping, result }));
}
