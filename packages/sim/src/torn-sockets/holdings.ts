import type { Caller } from '@tidemark/testing/kit';

/** What a server holds at one moment, as its metrics tell. */
export interface Holdings {
  readonly requests: number;
  readonly bodyBytes: number;
  readonly streams: number;
  readonly files: number;
  /** Of JavaScript objects and buffers. */
  readonly heapBytes: number;
  readonly rssBytes: number;
}

/** Ordinary requests before and while memory is measured: they make the engine collect what is garbage. */
const CALM_REQUESTS = 60;
const MEASURE_EVERY = 5;

/** Measures while ordinary requests go on, and gives the least of each number: what is held whatever happens. */
export async function leastHoldings(admin: Caller, calm: () => Promise<unknown>): Promise<Holdings> {
  let least = await readHoldings(admin);
  for (let count = 1; count <= CALM_REQUESTS; count++) {
    await calm();
    if (count % MEASURE_EVERY === 0) least = lesser(least, await readHoldings(admin));
  }
  return least;
}

async function readHoldings(admin: Caller): Promise<Holdings> {
  const { text, status } = await admin.get('/metrics');
  if (status !== 200) throw new Error(`the metrics were answered ${status}: ${text}`);
  const read = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  return {
    // Whoever asks is one of them.
    requests: read('tidemark_http_requests_open') - 1,
    bodyBytes: read('tidemark_http_body_bytes'),
    streams: read('tidemark_event_streams'),
    files: read('process_open_fds'),
    heapBytes: read('nodejs_heap_size_used_bytes') + read('nodejs_external_memory_bytes'),
    rssBytes: read('process_resident_memory_bytes'),
  };
}

function lesser(one: Holdings, other: Holdings): Holdings {
  return {
    requests: Math.min(one.requests, other.requests),
    bodyBytes: Math.min(one.bodyBytes, other.bodyBytes),
    streams: Math.min(one.streams, other.streams),
    files: Math.min(one.files, other.files),
    heapBytes: Math.min(one.heapBytes, other.heapBytes),
    rssBytes: Math.min(one.rssBytes, other.rssBytes),
  };
}

/** Connections of the test itself, and files that the engine opens when it likes. */
const FILES_SLACK = 3;
/** Caches fill up to bounds of their own. A leak of a kilobyte per request is larger after a minute. */
const HEAP_SLACK_BYTES = 64 * 2 ** 20;
const RSS_SLACK_BYTES = 192 * 2 ** 20;

/** What did not return to where it was. */
export function holdingProblems(before: Holdings, after: Holdings): readonly string[] {
  const bounds: Holdings = {
    requests: 0,
    bodyBytes: 0,
    streams: 0,
    files: before.files + FILES_SLACK,
    heapBytes: before.heapBytes + HEAP_SLACK_BYTES,
    rssBytes: before.rssBytes + RSS_SLACK_BYTES,
  };
  const names = Object.keys(bounds) as (keyof Holdings)[];
  return names
    .filter((name) => !(after[name] <= bounds[name]))
    .map((name) => `${name}: ${after[name]}, at most ${bounds[name]} expected (${before[name]} before)`);
}
