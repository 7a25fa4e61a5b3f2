import type { Caller } from '@tidemark/testing/kit';

/** What a server uses at one moment, according to its metrics. */
export interface ResourceUsage {
  readonly requests: number;
  readonly bodyBytes: number;
  readonly streams: number;
  readonly files: number;
  /** Of JavaScript objects and buffers. */
  readonly heapBytes: number;
  readonly rssBytes: number;
}

/** Ordinary requests while memory is measured: a server that only answers measurements would not be a fair comparison. */
const ORDINARY_REQUESTS = 60;
const MEASURE_EVERY = 5;

/** Measures several times between ordinary requests. Returns the minimum of each number. */
export async function leastUsage(admin: Caller, ordinaryRequest: () => Promise<unknown>): Promise<ResourceUsage> {
  let least = await readUsage(admin);
  for (let count = 1; count <= ORDINARY_REQUESTS; count++) {
    await ordinaryRequest();
    if (count % MEASURE_EVERY === 0) least = minimum(least, await readUsage(admin));
  }
  return least;
}

async function readUsage(admin: Caller): Promise<ResourceUsage> {
  const { text, status } = await admin.get('/metrics');
  if (status !== 200) throw new Error(`GET /metrics was answered ${status}: ${text}`);
  const read = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  return {
    // This request is one of them.
    requests: read('tidemark_http_requests_open') - 1,
    bodyBytes: read('tidemark_http_body_bytes'),
    streams: read('tidemark_event_streams'),
    files: read('process_open_fds'),
    heapBytes: read('nodejs_heap_size_used_bytes') + read('nodejs_external_memory_bytes'),
    rssBytes: read('process_resident_memory_bytes'),
  };
}

function minimum(one: ResourceUsage, other: ResourceUsage): ResourceUsage {
  return {
    requests: Math.min(one.requests, other.requests),
    bodyBytes: Math.min(one.bodyBytes, other.bodyBytes),
    streams: Math.min(one.streams, other.streams),
    files: Math.min(one.files, other.files),
    heapBytes: Math.min(one.heapBytes, other.heapBytes),
    rssBytes: Math.min(one.rssBytes, other.rssBytes),
  };
}

/** Connections of the test itself, and files that the engine opens from time to time. */
const FILES_SLACK = 3;
/** Compiled code and caches grow up to their own bounds. A leak of 100 bytes per request exceeds this in ten minutes. */
const HEAP_SLACK_BYTES = 16 * 2 ** 20;
const RSS_SLACK_BYTES = 192 * 2 ** 20;

/** Returns what did not return to its earlier value. */
export function usageProblems(before: ResourceUsage, after: ResourceUsage): readonly string[] {
  const bounds: ResourceUsage = {
    requests: 0,
    bodyBytes: 0,
    streams: 0,
    files: before.files + FILES_SLACK,
    heapBytes: before.heapBytes + HEAP_SLACK_BYTES,
    rssBytes: before.rssBytes + RSS_SLACK_BYTES,
  };
  const names = Object.keys(bounds) as (keyof ResourceUsage)[];
  return names
    .filter((name) => !(after[name] <= bounds[name]))
    .map((name) => `${name}: ${after[name]}, at most ${bounds[name]} expected (${before[name]} before)`);
}
