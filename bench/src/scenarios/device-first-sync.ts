import { makeDevices, openDeviceFixture } from '../device-fixture.ts';
import { type FirstSyncCost, measureFirstSync } from '../first-sync-process.ts';
import { objectsFrom, SOURCE } from '../fixture.ts';
import { median } from '../measure.ts';
import type { Row } from '../row.ts';

const OBJECTS = 100_000;
const BATCH = 10_000;
const ROUNDS = 3;
const CPU_MS_MAX = 1_500;
const MEMORY_BYTES_MAX = 200e6;
const WAYS = ['bare', 'least', 'memory', 'file'] as const;

/**
 * What a first sync of 100,000 objects costs the device in Node.js: processor time, against fetching the same snapshot and parsing
 * its lines, with and without what the promises of the SDK take at least, and memory. The runs take turns.
 */
export async function deviceFirstSync(): Promise<readonly Row[]> {
  const { fixture, prepared: devices } = await openDeviceFixture(async (tidemark) => {
    await tidemark.sources.declare({ name: SOURCE, partition_type: 'app' });
    for (let start = 0; start < OBJECTS; start += BATCH) {
      await tidemark.objects.fastInsert({ source: SOURCE, objects: objectsFrom(start, BATCH) });
    }
    return makeDevices(tidemark, WAYS.length * ROUNDS);
  });
  const costs: Record<(typeof WAYS)[number], FirstSyncCost[]> = { bare: [], least: [], memory: [], file: [] };
  for (const [index, device] of devices.entries()) {
    const way = WAYS[index % WAYS.length] ?? 'bare';
    const cost = await measureFirstSync({ url: fixture.url, source: SOURCE, device, way });
    if (cost.objects !== OBJECTS) throw new Error(`${way}: ${cost.objects} of ${OBJECTS} objects came`);
    costs[way].push(cost);
  }
  await fixture.close();
  const bareMs = median(costs.bare.map(({ cpuMs }) => cpuMs));
  const leastMs = median(costs.least.map(({ cpuMs }) => cpuMs));
  return (['memory', 'file'] as const).flatMap((way) => rowsOf(way, costs[way], { bareMs, leastMs }));
}

interface Limits {
  readonly bareMs: number;
  readonly leastMs: number;
}

function rowsOf(way: 'memory' | 'file', costs: readonly FirstSyncCost[], { bareMs, leastMs }: Limits): readonly Row[] {
  const cpuMs = median(costs.map((cost) => cost.cpuMs));
  const bytes = median(costs.map(({ memoryBytes }) => memoryBytes));
  return [
    {
      name: `first sync of the SDK, ${way} store`,
      measured: `${cpuMs.toFixed(0)} ms CPU for ${OBJECTS}`,
      against: `${bareMs.toFixed(0)} ms to fetch and parse`,
      ratio: cpuMs / bareMs,
      bound: { atMost: way === 'memory' ? CPU_RATIO_MEMORY : CPU_RATIO_FILE },
    },
    {
      name: `first sync of the SDK, ${way} store, against the least`,
      measured: `${cpuMs.toFixed(0)} ms CPU for ${OBJECTS}`,
      against: `${leastMs.toFixed(0)} ms to fetch, parse, check, freeze and map`,
      ratio: cpuMs / leastMs,
      bound: { atMost: way === 'memory' ? LEAST_RATIO_MEMORY : LEAST_RATIO_FILE },
    },
    {
      name: `first sync of the SDK, ${way} store, absolute`,
      measured: `${cpuMs.toFixed(0)} ms CPU for ${OBJECTS}`,
      against: `${CPU_MS_MAX} ms allowed`,
      ratio: cpuMs / CPU_MS_MAX,
      bound: { atMost: 1 },
      knownMiss:
        'to fetch, parse, check, freeze and map the objects takes most of the bound; what is left is spread over transactions, the store and compiling code (decision 0097)',
    },
    {
      name: `memory of that, ${way} store`,
      measured: `${(bytes / 1e6).toFixed(0)} MB`,
      against: `${MEMORY_BYTES_MAX / 1e6} MB allowed`,
      ratio: bytes / MEMORY_BYTES_MAX,
      bound: { atMost: 1 },
      knownMiss:
        'it is within a few percent of the bound, and above it in some runs; fetching and parsing alone take about 170 MB',
    },
  ];
}

const CPU_RATIO_MEMORY = 3;
const CPU_RATIO_FILE = 4;
const LEAST_RATIO_MEMORY = 1.6;
const LEAST_RATIO_FILE = 2.1;
