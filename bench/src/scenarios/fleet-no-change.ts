import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DeviceConnection } from '../bench-device.ts';
import { makeDevices, openDeviceFixture } from '../device-fixture.ts';
import { objectsFrom } from '../fixture.ts';
import { sendLoad } from '../load.ts';
import { compare } from '../measure.ts';
import type { Row } from '../row.ts';

const SOURCES = ['Product', 'Price', 'Stock', 'Order', 'Visit'];
const BATCH = 10_000;
const CONNECTIONS = 16;
const REQUESTS = 4_000;

/** A pull of five sources that finds nothing new, against a bare route that wants the same token and sends as much. */
export async function fleetNoChange(objects: number): Promise<Row> {
  const { fixture, prepared: device } = await openDeviceFixture(async (tidemark) => {
    for (const name of SOURCES) await tidemark.sources.declare({ name, partition_type: 'app' });
    for (let start = 0; start < objects; start += BATCH) {
      const count = Math.min(BATCH, objects - start);
      await tidemark.objects.fastInsert({ source: 'Product', objects: objectsFrom(start, count) });
    }
    for (const source of SOURCES.slice(1)) await tidemark.objects.fastInsert({ source, objects: objectsFrom(0, 100) });
    const [first] = await makeDevices(tidemark, 1);
    if (first === undefined) throw new Error('there is no device');
    return first;
  });
  const connection = new DeviceConnection(fixture.url, device);
  const tokens: Record<string, string> = {};
  for (const source of SOURCES) tokens[source] = await connection.lastToken(source);
  const { body } = await connection.pull(tokens);
  writeFileSync(join(fixture.pagesFolder, '0'), body);
  const request = (path: string) => requestText(path, device.token, connection.pullBody(tokens));
  const load = { port: fixture.port, connections: CONNECTIONS, requests: REQUESTS };
  const ways = [
    () => sendLoad({ ...load, request: request('/sync/v1/pull') }),
    () => sendLoad({ ...load, request: request('/bare/pages/0') }),
  ];
  const { medianMs } = await compare(ways, { count: 9, runs: 1 });
  connection.close();
  await fixture.close();
  const [ours = 0, bare = 0] = medianMs;
  return {
    name: `pull of 5 sources without news, ${objects.toLocaleString('en')} objects, requests/s`,
    measured: perSecond(ours),
    against: `${perSecond(bare)} by a bare route with the same token and size`,
    ratio: bare / ours,
    bound: { atLeast: 0.5 },
  };
}

function requestText(path: string, token: string, body: string): string {
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: localhost',
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

function perSecond(ms: number): string {
  return Math.round((REQUESTS / ms) * 1_000).toLocaleString('en');
}
