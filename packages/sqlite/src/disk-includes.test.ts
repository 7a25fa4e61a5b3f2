import type { Device, QueryOptions, SyncedObject } from '@tidemark/client';
import { Rng, seededRandom, type TestServer } from '@tidemark/client-testing';
import { expect, it } from 'vitest';
import { openServer, openWatchedStore, type WatchedStore } from './testing/disk-fixture.ts';

type Attributes = Readonly<Record<string, string | number>>;
type AnyOptions = QueryOptions<Record<string, never>>;

const KINDS = ['InMemory', 'OnDisk'] as const;
const PARTS = ['a', 'b', 'é', '!c', '😀', '0', '1', '2'];
const LINES = Array.from({ length: 24 }, (_, n) => `l${n}`);
const GROUPS = ['north', 'south'] as const;

async function open(server: TestServer, store: WatchedStore, rng: Rng, isNew: boolean): Promise<Device> {
  const user = isNew ? { user: 'ada' } : {};
  const device = await server.openDevice({ ...user, store, pageObjects: rng.pick([3, 5, 500]), live: rng.chance(50) });
  for (const kind of KINDS) {
    const keep = kind === 'OnDisk' ? 'disk' : 'memory';
    device.source(`Part${kind}`, { keep, indexes: ['n'] });
    device.source(`Line${kind}`, { keep, indexes: rng.chance(50) ? ['part', 'n'] : [] });
  }
  return device;
}

function drawLine(rng: Rng): Attributes {
  return { ...(rng.chance(80) ? { n: rng.below(4) } : {}), part: rng.chance(90) ? rng.pick(PARTS) : 7 };
}

interface Drawn {
  readonly source: 'Part' | 'Line';
  readonly options: AnyOptions;
  readonly isIncluding: boolean;
}

function drawQuery(rng: Rng): Drawn {
  const options = {
    ...(rng.chance(50) ? { where: { n: { gte: rng.below(4) } } } : {}),
    ...(rng.chance(70) ? { orderBy: rng.pick(['n', { n: 'desc' }, ['n', { part: 'desc' }], 'part']) } : {}),
    ...(rng.chance(60) ? { limit: rng.between(1, 6) } : {}),
    ...(rng.chance(30) ? { offset: rng.below(5) } : {}),
  };
  return { source: rng.pick(['Part', 'Line'] as const), options: options as AnyOptions, isIncluding: rng.chance(70) };
}

function queryOf(device: Device, { source, options, isIncluding }: Drawn, own: string, other: string) {
  const relation = source === 'Part' ? { source: `Line${other}`, by: 'part' } : { source: `Part${other}`, via: 'part' };
  const include = isIncluding ? { include: { other: relation } } : {};
  return device.source<Record<string, never>>(`${source}${own}`).query({ ...options, ...include } as AnyOptions);
}

const plainObject = ({ id, attributes, isPending, groups }: SyncedObject) => ({ id, attributes, isPending, groups });

function plain(row: SyncedObject): object {
  const { other } = (row as SyncedObject & { readonly included?: { readonly other?: unknown } }).included ?? {};
  const related = Array.isArray(other) ? other.map(plainObject) : other && plainObject(other as SyncedObject);
  return { ...plainObject(row), related };
}

/** Makes the same change in both sources of a name. */
async function change(server: TestServer, device: Device, rng: Rng): Promise<void> {
  const kind = rng.pick([
    'push',
    'push',
    'remove',
    'edit',
    'edit',
    'create',
    'delete',
    'groups',
    'startOver',
    'offline',
  ]);
  const name = rng.pick(['Part', 'Line', 'Line'] as const);
  const ids = rng.shuffle(name === 'Part' ? PARTS : LINES).slice(0, rng.between(1, 5));
  const objects = Object.fromEntries(ids.map((id) => [id, name === 'Part' ? { n: rng.below(4) } : drawLine(rng)]));
  const owner = name === 'Part' ? { group: rng.pick(GROUPS) } : { user: 'ada' };
  const edits = Object.entries(objects).slice(0, 2);
  for (const each of KINDS) {
    const source = device.source(`${name}${each}`);
    if (kind === 'push') await server.push(source.name, objects, owner);
    if (kind === 'remove') await server.remove(source.name, ids, owner);
    if (kind !== 'edit' && kind !== 'create' && kind !== 'delete') continue;
    for (const [id, attributes] of edits) {
      const known = await source.fetch(id);
      if (known === undefined && kind === 'create') {
        await source.create(attributes, { id, ...(name === 'Part' ? { group: owner.group } : {}) } as object);
      }
      if (known !== undefined && kind === 'edit') await source.update(id, attributes);
      if (known !== undefined && kind === 'delete') await source.delete(id);
    }
  }
  if (kind === 'groups') await server.setGroups('ada', rng.shuffle([...GROUPS]).slice(0, rng.between(1, 2)));
  if (kind === 'startOver') await device.startOver();
  if (kind === 'offline' && server.network.hints.isOnline()) server.network.goOffline();
  else if (rng.chance(70)) server.network.goOnline();
  if (!server.network.hints.isOnline()) return;
  await device.sync();
  // What was uploaded may still have to be pulled.
  await expect.poll(() => device.status.getSnapshot().mode, { timeout: 60_000 }).toBe('idle');
}

async function compare(device: Device, drawn: Drawn, message: string): Promise<void> {
  const rows: (readonly object[])[] = [];
  const counts: number[] = [];
  for (const own of KINDS) {
    for (const other of KINDS) {
      const query = queryOf(device, drawn, own, other);
      rows.push((await query.fetch()).map(plain));
      query.count();
      await query.fetch();
      counts.push(query.count());
    }
  }
  for (const found of rows.slice(1)) expect(found, message).toEqual(rows[0]);
  expect(new Set(counts).size, `${message}: ${counts}`).toBe(1);
}

/** Seeds that once showed a mistake come first. */
const SEEDS = [
  31,
  44,
  ...Array.from({ length: process.env.TIDEMARK_LONG_TESTS === '1' ? 100 : 1 }, (_, at) => 100 + at),
];

it.each(SEEDS)(
  '[DISK-8] includes between sources in memory and on the disk give what they give in memory alone, with groups, over random histories (seed %i)',
  async (seed) => {
    const rng = new Rng(seededRandom(seed));
    const sources = KINDS.flatMap((kind) => [
      { name: `Part${kind}`, partition_type: 'group' } as const,
      { name: `Line${kind}` },
    ]);
    const server = await openServer({ sources, groups: { north: ['ada'], south: ['ada'] } });
    const store = await openWatchedStore();
    let device = await open(server, store, rng, true);
    await device.sync();
    const live = Array.from({ length: 5 }, () => drawQuery(rng));
    const follow = () => {
      for (const drawn of live) {
        for (const own of KINDS) {
          for (const other of KINDS) queryOf(device, drawn, own, other).subscribe(() => undefined);
        }
      }
    };
    follow();
    for (let step = 0; step < 30; step++) {
      if (rng.chance(8)) {
        await device.close();
        device = await open(server, store, rng, false);
        follow();
      }
      await change(server, device, rng);
      for (const drawn of [...live, drawQuery(rng)]) {
        await compare(device, drawn, `seed ${seed}, step ${step}: ${JSON.stringify(drawn)}`);
      }
    }
  },
);
