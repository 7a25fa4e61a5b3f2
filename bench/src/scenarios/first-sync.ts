import { join } from 'node:path';
import type { Page } from '@tidemark/protocol';
import { pullPage } from '@tidemark/testing/kit';
import { type Database, open } from 'lmdb';
import { type Fixture, SOURCE } from '../fixture.ts';
import { compare } from '../measure.ts';
import type { Row } from '../row.ts';

const OBJECTS = 100_000;
const PAGE = 500;

/**
 * A first sync of 100,000 objects in pages of 500, against the bare library scanning the same records, each under a key
 * of its own, and joining the same JSON in the same portions.
 */
export async function firstSync(fixture: Fixture): Promise<Row> {
  const ours = async () => {
    let token: string | null = null;
    let units = 0;
    for (let pages = 0; pages < OBJECTS / PAGE; pages++) {
      const { json } = await pullPage(fixture.tidemark, fixture.device, { source: SOURCE, token, objectsMax: PAGE });
      units += json.length;
      token = tokenIn(json);
    }
    return units;
  };
  const root = open({ path: join(fixture.folder, 'bare.mdb'), overlappingSync: false, encoding: 'string' });
  const records = root as unknown as Database<string, number>;
  await fill(records, fixture);
  const bare = () => rawScan(records);
  const { medianMs } = await compare([ours, bare], { count: 9, runs: 1 });
  await root.close();
  const [oursMs = 0, bareMs = 0] = medianMs;
  return {
    name: 'first-sync pages, objects/s',
    measured: perSecond(oursMs),
    against: `${perSecond(bareMs)} by a bare scan`,
    ratio: bareMs / oursMs,
    bound: { atLeast: 0.5 },
  };
}

async function fill(records: Database<string, number>, { tidemark, device }: Fixture): Promise<void> {
  let token: string | null = null;
  for (let pages = 0, key = 0; pages < OBJECTS / PAGE; pages++) {
    const { json } = await pullPage(tidemark, device, { source: SOURCE, token, objectsMax: PAGE });
    const { put = {} } = JSON.parse(json) as Page;
    records.transactionSync(() => {
      for (const [id, object] of Object.entries(put)) records.put(key++, `"${id}":${JSON.stringify(object)}`);
    });
    token = tokenIn(json);
  }
}

function rawScan(records: { getRange(range: { limit: number }): Iterable<{ value: string }> }): number {
  let units = 0;
  let parts: string[] = [];
  for (const { value } of records.getRange({ limit: OBJECTS })) {
    parts.push(value);
    if (parts.length < PAGE) continue;
    units += `{${parts.join(',')}}`.length;
    parts = [];
  }
  return units;
}

/** The token stands first in a page, so that a reader need not parse the rest to go on. */
function tokenIn(json: string): string {
  const token: Page['token'] = json.slice('{"token":"'.length, json.indexOf('"', '{"token":"'.length));
  return token;
}

function perSecond(ms: number): string {
  return Math.round((OBJECTS / ms) * 1_000).toLocaleString('en');
}
