import type { TidemarkClient } from '@tidemark/backend';
import type { PingResult } from '@tidemark/protocol';

type Pings = Pick<TidemarkClient['pings'], 'list' | 'get'>;

/** The result of a ping on one device. */
export interface DevicePing {
  readonly ping: string;
  readonly result: PingResult;
}

/** Pings whose results are looked through for those of a device. */
export const PINGS_READ = 10;
/** Results in one page of a ping. */
export const RESULTS_READ = 100;

/** Returns the results of a device among the last pings, newest first. */
export async function lastPingsOf(api: Pings, device: string): Promise<readonly DevicePing[]> {
  const pings = await api.list({ limit: PINGS_READ });
  const results = await Promise.all(
    pings.filter(({ devices }) => devices > 0).map(({ ping_id }) => resultOf(api, ping_id, device)),
  );
  return results.flat();
}

/**
 * Results come in the order of the ids of devices. So the pages that begin just before the device are read until one has its
 * result, or has passed its id.
 */
async function resultOf(api: Pings, ping: string, device: string): Promise<readonly DevicePing[]> {
  for (let after = device.slice(0, -1); ; ) {
    const { results } = await api.get(ping, { limit: RESULTS_READ, ...(after === '' ? {} : { after }) });
    const result = results.find(({ client_id }) => client_id === device);
    if (result !== undefined) return [{ ping, result }];
    const last = results.at(-1)?.client_id ?? device;
    if (results.length < RESULTS_READ || last >= device) return [];
    after = last;
  }
}
