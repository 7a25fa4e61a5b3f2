import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiClient, path } from './api-client.ts';
import type { Cli } from './cli.ts';

export interface PingResult {
  readonly client_id: string;
  readonly status: string;
}

/** A ping as the server reports it. */
export interface PingProgress {
  readonly devices: number;
  readonly pending: number;
  readonly accepted: number;
  readonly sent: number;
  readonly failed: number;
  readonly retired: number;
}

type PingPage = PingProgress & { readonly results: readonly PingResult[] };

export const RESULT_COLUMNS = ['client_id', 'service', 'status', 'attempts', 'repeated', 'reason'];
const LOOK_EVERY_MS = 500;
/** Longer than the server tries to deliver a ping. */
const WATCH_MS_MAX = 7_200_000;
const PAGE_RESULTS = 1_000;

/** Polls until no device is pending. Progress goes to the standard error output, one line per change. */
export async function watchPing(cli: Cli, api: ApiClient, id: string): Promise<PingProgress> {
  let told = '';
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    const ping = await api.get<PingProgress>(path`/rc/v1/pings/${id}`, { limit: 1 });
    const line = `${ping.devices - ping.pending} of ${ping.devices} devices done, ${ping.failed} failed, ${ping.retired} retired`;
    if (line !== told) cli.terminal.say(line);
    told = line;
    if (ping.pending === 0 || waitedMs >= WATCH_MS_MAX) return ping;
    await sleep(LOOK_EVERY_MS);
  }
}

/** Reads the ping with all pages of its results. */
export async function wholePing(api: ApiClient, id: string): Promise<PingPage> {
  const results: PingResult[] = [];
  for (;;) {
    const after = results.at(-1)?.client_id;
    const ping = await api.get<PingPage>(path`/rc/v1/pings/${id}`, { limit: PAGE_RESULTS, after });
    results.push(...ping.results);
    if (ping.results.length < PAGE_RESULTS) return { ...ping, results };
  }
}
