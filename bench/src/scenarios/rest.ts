import { rmSync } from 'node:fs';
import { compose, readConfig } from '@tidemark/server';
import { buildFixture, endFixture, newFolder, objectsFrom, SOURCE } from '../fixture.ts';
import { compare } from '../measure.ts';
import type { Row } from '../row.ts';
import { largeBody } from './large-body.ts';
import { readSource } from './read-source.ts';

const PASSWORD = 'only for this benchmark';

/** What the HTTP edge costs. */
export async function rest(): Promise<readonly Row[]> {
  const reading = await readSource();
  const folder = newFolder();
  const env = {
    TIDEMARK_PORT: '0',
    TIDEMARK_DATA: folder,
    TIDEMARK_ADMIN_PASSWORD: PASSWORD,
    TIDEMARK_LOG_LEVEL: 'error',
  };
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const server = await compose(readConfig(env), silent);
  const token = await post(`${server.url}/rc/v1/system/login`, { login: 'admin', password: PASSWORD });
  const headers = { 'x-sync-api-token': token };
  await post(`${server.url}/rc/v1/sources`, { name: 'Product', partition_type: 'app' }, headers);
  const port = Number(new URL(server.url).port);
  const rows = [reading, await push(server.url, headers), await largeBody({ port, token })];
  await server.close();
  rmSync(folder, { recursive: true, force: true });
  return rows;
}

async function push(url: string, headers: Record<string, string>): Promise<Row> {
  const fixture = await buildFixture(0, () => {});
  const batches = Array.from({ length: 21 }, (_, batch) => objectsFrom(batch * 1_000, 1_000));
  const bodies = batches.map((objects) => JSON.stringify({ objects }));
  let httpTurn = 0;
  let coreTurn = 0;
  const overHttp = () => post(`${url}/app/v1/Product/push_objects`, bodies[httpTurn++] ?? '{}', headers);
  const inCore = () => fixture.tidemark.objects.push({ source: SOURCE, objects: batches[coreTurn++] });
  const { medianMs } = await compare([overHttp, inCore], { count: 20, runs: 1 });
  await endFixture(fixture);
  const [http = 0, core = 0] = medianMs;
  return {
    name: 'push 1,000 objects over HTTP',
    measured: `${http.toFixed(1)} ms`,
    against: `${core.toFixed(1)} ms by the core alone`,
    ratio: http / core,
    bound: { atMost: 2 },
  };
}

async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  return text;
}
