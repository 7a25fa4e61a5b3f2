import { join } from 'node:path';
import type { Page } from '@tidemark/protocol';
import { open } from 'lmdb';
import { compare } from '../measure.ts';
import type { Row } from '../row.ts';
import { SOURCE, type World } from '../world.ts';

const OBJECTS = 100_000;
const PAGE = 500;

/**
 * A first sync of 100,000 objects in pages of 500, against the bare library scanning the same records of the same file
 * and joining the same JSON in the same portions.
 */
export async function firstSync(world: World): Promise<Row> {
  const ours = async () => {
    let token: string | null = null;
    let units = 0;
    for (let pages = 0; pages < OBJECTS / PAGE; pages++) {
      const { json } = await world.tidemark.pull({ source: SOURCE, token, objectsMax: PAGE });
      units += json.length;
      token = tokenIn(json);
    }
    return units;
  };
  const root = open({ path: join(world.folder, 'store.mdb'), maxDbs: 16, overlappingSync: false });
  const records = root.openDB<string, Buffer>('live', { encoding: 'string', keyEncoding: 'binary' });
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
