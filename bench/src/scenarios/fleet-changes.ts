import { DeviceConnection, placeIn } from '../bench-device.ts';
import { type DeviceFixture, makeDevices, openDeviceFixture } from '../device-fixture.ts';
import { idOf, objectsFrom } from '../fixture.ts';
import type { Row } from '../row.ts';

const OBJECTS = 100_000;
const BATCH = 10_000;
const CHANGED = 10;
const DEVICES = 1_000;
/** How many of them are under way at once, as many devices behind one network would be. */
const AT_ONCE = 50;
const ROUNDS = 5;
const P99_MS_MAX = 2_000;
const MEMORY_GROWTH_MAX = 1.1;

/** What ten changed objects of 100,000 cost on the wire, and a thousand devices that all want to know of them. */
export async function fleetChanges(): Promise<readonly Row[]> {
  const { fixture, prepared: devices } = await openDeviceFixture(async (tidemark) => {
    await tidemark.sources.declare({ name: 'Product', partition_type: 'app' });
    for (let start = 0; start < OBJECTS; start += BATCH) {
      await tidemark.objects.fastInsert({ source: 'Product', objects: objectsFrom(start, BATCH) });
    }
    return makeDevices(tidemark, DEVICES);
  });
  const connections = devices.map((device) => new DeviceConnection(fixture.url, device));
  const [first] = connections;
  if (first === undefined) throw new Error('there is no device');
  const token = await first.lastToken('Product');
  const rows = [await bytesRow(fixture, first, token), ...(await fleetRows(fixture, connections, token))];
  for (const connection of connections) connection.close();
  await fixture.close();
  return rows;
}

async function bytesRow(fixture: DeviceFixture, connection: DeviceConnection, token: string): Promise<Row> {
  const changed = changesOf(0);
  await fixture.push('Product', changed);
  const { wireBytes } = await connection.pull({ Product: token });
  const changedBytes = Buffer.byteLength(JSON.stringify(changed));
  return {
    name: `${CHANGED} changed objects of ${OBJECTS.toLocaleString('en')}, bytes on the wire`,
    measured: `${wireBytes} bytes, head included`,
    against: `${changedBytes} bytes of changed attributes`,
    ratio: wireBytes / changedBytes,
    bound: { atMost: 2 },
  };
}

/** After each push all devices pull; all of them must then stand where the server stands. */
async function fleetRows(
  fixture: DeviceFixture,
  connections: readonly DeviceConnection[],
  token: string,
): Promise<readonly Row[]> {
  const times: number[] = [];
  // Any token of the source is good for any device that has not been told to start over.
  let tokens = connections.map(() => token);
  let memoryBefore = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    await fixture.push('Product', changesOf(round + 1));
    tokens = await pullAll(connections, tokens, times);
    if (round === 0) memoryBefore = await fixture.server.memoryBytes();
  }
  const growth = (await fixture.server.memoryBytes()) / memoryBefore;
  const sorted = times.sort((left, right) => left - right);
  const p99Ms = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
  return [
    {
      name: `${DEVICES.toLocaleString('en')} devices after one push: all caught up, p99`,
      measured: `${p99Ms.toFixed(0)} ms, half within ${(sorted[sorted.length >> 1] ?? 0).toFixed(0)} ms`,
      against: `${P99_MS_MAX} ms`,
      ratio: p99Ms / P99_MS_MAX,
      bound: { atMost: 1 },
    },
    {
      name: `memory after ${ROUNDS} more such pushes`,
      measured: `${growth.toFixed(2)} times`,
      against: 'after the first',
      ratio: growth,
      bound: { atMost: MEMORY_GROWTH_MAX },
    },
  ];
}

async function pullAll(
  connections: readonly DeviceConnection[],
  tokens: readonly string[],
  times: number[],
): Promise<string[]> {
  const next: string[] = [];
  const waiting = [...connections.entries()];
  const work = async () => {
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
      const [index, connection] = one;
      const startedMs = performance.now();
      const { body } = await connection.pull({ Product: tokens[index] ?? null });
      times.push(performance.now() - startedMs);
      const place = placeIn(body);
      if (place.more) throw new Error('ten objects did not fit into a page');
      next[index] = place.token;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (new Set(next).size !== 1) throw new Error('not all devices stand in the same place');
  return next;
}

/** Two attributes of ten objects, with values of their own in every round. */
function changesOf(round: number): Record<string, Record<string, unknown>> {
  const change = (index: number) => ({
    price: round + index / 100,
    text: `In round ${round} the text of number ${index} is another one, as long as the one that stood there before.`,
  });
  return Object.fromEntries(Array.from({ length: CHANGED }, (_, index) => [idOf(index * 997), change(index)]));
}
