import { startBareHttp } from '../bare-http.ts';
import { DeviceConnection } from '../bench-device.ts';
import type { ChildServer } from '../child-server.ts';
import { makeDevices, openDeviceFixture } from '../device-fixture.ts';
import { idOf, objectsFrom } from '../fixture.ts';
import { sendLoad } from '../load.ts';
import { median } from '../measure.ts';
import type { Row } from '../row.ts';

const OBJECTS = 100_000;
const BATCH = 10_000;
const CHANGED = 10;
const ROUNDS = 7;
const REQUESTS = 1_000;
const CONNECTIONS = 8;
/** What ten changes may cost more than none, in microseconds. */
const CHANGES_US_MAX = 60;

/** CPU of one pull over HTTP: without changes beside node:http alone, and with ten changes beside none. */
export async function devicePulls(): Promise<readonly Row[]> {
  const { fixture, prepared: device } = await openDeviceFixture(async (tidemark) => {
    await tidemark.sources.declare({ name: 'Product', partition_type: 'app' });
    await tidemark.sources.declare({ name: 'Order' });
    const [first] = await makeDevices(tidemark, 1);
    if (first === undefined) throw new Error('there is no device');
    for (let start = 0; start < OBJECTS; start += BATCH) {
      await tidemark.objects.fastInsert({ source: 'Product', objects: objectsFrom(start, BATCH) });
      await tidemark.objects.fastInsert({ source: 'Order', user_id: first.user, objects: objectsFrom(start, BATCH) });
    }
    return first;
  });
  const connection = new DeviceConnection(fixture.url, device);
  const pullOf = (source: string, token: string) => requestText(device.token, connection.pullBody({ [source]: token }));
  const before = { Product: await connection.lastToken('Product'), Order: await connection.lastToken('Order') };
  const changed = Object.fromEntries(
    Array.from({ length: CHANGED }, (_, n) => [idOf((OBJECTS / CHANGED) * n), { price: n + 0.25 }]),
  );
  await fixture.push('Product', changed);
  await fixture.push('Order', changed, device.user);
  const after = { Product: await connection.lastToken('Product'), Order: await connection.lastToken('Order') };
  const { body } = await connection.pull({ Product: after.Product });
  const bare = await startBareHttp(body.toString());
  const ours = { server: fixture.server, port: fixture.port };
  const quiet = pullOf('Product', after.Product);
  const [none = 0, own = 0, shared = 0, limit = 0] = await cpuUsOf([
    { ...ours, request: quiet },
    { ...ours, request: pullOf('Order', before.Order) },
    { ...ours, request: pullOf('Product', before.Product) },
    { server: bare, port: Number(new URL(bare.url).port), request: quiet },
  ]);
  connection.close();
  await bare.stop();
  await fixture.close();
  return [bareRow(none, limit), changesRow('own', own, none), changesRow('shared', shared, none)];
}

function bareRow(oursUs: number, bareUs: number): Row {
  return {
    name: 'pull without news over HTTP, CPU',
    measured: `${oursUs.toFixed(0)} µs`,
    against: `${bareUs.toFixed(0)} µs of node:http alone`,
    ratio: bareUs / oursUs,
    bound: { atLeast: BARE_SHARE_MIN },
    knownMiss: BARE_MISS,
  };
}

/** What 110 µs are beside the 48 µs that node:http took when the bound was set. */
const BARE_SHARE_MIN = 0.44;
const BARE_MISS =
  'in a profile, sending the answer takes 40 % and reading token, device and head from the store 16 %; the rest is spread over Node.js, metrics and statistics, so it would take many small savings';

const CHANGES_MISS =
  'a repeated pull without news is answered from what is remembered of the last one (decision 0056), so the difference has all reads of a pull in it; no single one stands out';

function changesRow(whose: string, changesUs: number, noneUs: number): Row {
  return {
    name: `pull of ${CHANGED} changes in ${OBJECTS.toLocaleString('en')} ${whose} objects, CPU beyond one without news`,
    measured: `${(changesUs - noneUs).toFixed(0)} µs more: ${changesUs.toFixed(0)} µs`,
    against: `${noneUs.toFixed(0)} µs without news; ${CHANGES_US_MAX} µs more are allowed`,
    ratio: (changesUs - noneUs) / CHANGES_US_MAX,
    bound: { atMost: 1 },
    knownMiss: CHANGES_MISS,
  };
}

interface Target {
  readonly server: Pick<ChildServer, 'cpuMs'>;
  readonly port: number;
  readonly request: string;
}

/** Median CPU of the server for one request of each target, in microseconds. The targets take turns. */
async function cpuUsOf(targets: readonly Target[]): Promise<readonly number[]> {
  const times: number[][] = targets.map(() => []);
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, { server, port, request }] of targets.entries()) {
      const before = await server.cpuMs();
      await sendLoad({ port, request, connections: CONNECTIONS, requests: REQUESTS });
      // The first round only warms up.
      if (round > 0) times[index]?.push((((await server.cpuMs()) - before) * 1_000) / REQUESTS);
    }
  }
  return times.map(median);
}

function requestText(token: string, body: string): string {
  const head = [
    'POST /sync/v1/pull HTTP/1.1',
    'host: localhost',
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
