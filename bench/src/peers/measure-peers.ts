import { median } from '../measure.ts';
import type { Peer, PeerData, PeerObject, Received } from './peer.ts';
import { cpuMsOf, memoryMbOf } from './peer-process.ts';

/** A row of the comparison, with one value for each peer in their order. */
export interface PeerRow {
  readonly what: string;
  readonly unit: string;
  readonly values: readonly number[];
}

const ROUNDS = 3;
/** Requests without news, or with few, are repeated, because one is too short to measure. */
const REPEATS = 300;
const SMALL = 10_000;
/** Of the objects that are deleted before a new device comes. */
const DELETED_PERCENT = 90;
const CHANGED = 10;

interface Filled {
  readonly peer: Peer;
  readonly large: PeerData;
  readonly small: PeerData;
  readonly deleted: PeerData;
  readonly startMb: number;
  /** CPU per object while the large data set was written. */
  readonly pushUs: number;
}

/** Fills all peers with the same objects and measures them in turns. */
export async function measurePeers(
  peers: readonly Peer[],
  objects: number,
  say: (line: string) => void,
): Promise<readonly PeerRow[]> {
  const filled: Filled[] = [];
  for (const peer of peers) {
    say(`${peer.name}: writing ${objects.toLocaleString('en')} objects`);
    filled.push(await fill(peer, objects));
  }
  const memory = filled.map(({ peer }) => memoryMbOf(peer.pid));
  const rows: PeerRow[] = [
    { what: 'Write in batches of 1,000', unit: 'µs of CPU per object', values: filled.map(({ pushUs }) => pushUs) },
  ];
  const add = async (what: string, read: (one: Filled) => Promise<Measured>) => {
    say(what);
    const { cpuMs, bytes } = await inTurns(filled, read);
    rows.push({ what, unit: 'ms of CPU', values: cpuMs }, { what, unit: 'kB on the wire', values: bytes });
  };
  const count = objects.toLocaleString('en');
  await add(`First sync of ${SMALL.toLocaleString('en')}`, ({ peer, small }) => once(peer, () => small.sync(null)));
  await add(`First sync of ${count}`, ({ peer, large }) => once(peer, () => large.sync(null)));
  await add(
    `New device after ${DELETED_PERCENT} % of ${SMALL.toLocaleString('en')} were deleted`,
    ({ peer, deleted }) => once(peer, () => deleted.sync(null)),
  );
  const positions = await positionsOf(filled);
  await add(`Sync without changes, ${count} objects`, (one) => repeated(one, positions));
  for (const { large } of filled) await large.push(objectsOf(CHANGED, 'changed'));
  await add(`Sync of ${CHANGED} changes in ${count}`, (one) => repeated(one, positions));
  rows.push(
    { what: 'Memory after the start', unit: 'MB', values: filled.map(({ startMb }) => startMb) },
    { what: `Memory with all data`, unit: 'MB', values: memory },
  );
  return rows;
}

async function fill(peer: Peer, objects: number): Promise<Filled> {
  const startMb = memoryMbOf(peer.pid);
  const [large, small, deleted] = [await peer.open('large'), await peer.open('small'), await peer.open('deleted')];
  await small.push(objectsOf(SMALL));
  const beforeMs = cpuMsOf(peer.pid);
  await large.push(objectsOf(objects));
  const pushUs = ((cpuMsOf(peer.pid) - beforeMs) / objects) * 1_000;
  await deleted.push(objectsOf(SMALL));
  const gone = objectsOf((SMALL * DELETED_PERCENT) / 100).map(({ id }) => id);
  await deleted.remove(gone);
  return { peer, large, small, deleted, startMb, pushUs };
}

function objectsOf(count: number, note = 'as delivered'): readonly PeerObject[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `order-${String(index).padStart(7, '0')}`,
    item: `Compass no. ${index}`,
    price: index % 1_000,
    note,
  }));
}

type Positions = ReadonlyMap<Filled, string>;

async function positionsOf(filled: readonly Filled[]): Promise<Positions> {
  const positions = new Map<Filled, string>();
  for (const one of filled) positions.set(one, (await one.large.sync(null)).position);
  return positions;
}

interface Measured {
  readonly cpuMs: number;
  readonly received: Received;
}

async function once(peer: Peer, read: () => Promise<Received>): Promise<Measured> {
  const beforeMs = cpuMsOf(peer.pid);
  const received = await read();
  return { cpuMs: cpuMsOf(peer.pid) - beforeMs, received };
}

/** Syncs from the same position again and again, so that every sync brings the same. */
async function repeated(one: Filled, positions: Positions): Promise<Measured> {
  const position = positions.get(one);
  if (position === undefined) throw new Error('the device has no position');
  const beforeMs = cpuMsOf(one.peer.pid);
  let received: Received = { bytes: 0, entries: 0, position };
  for (let count = 0; count < REPEATS; count++) received = await one.large.sync(position);
  return { cpuMs: (cpuMsOf(one.peer.pid) - beforeMs) / REPEATS, received };
}

/** Measures all peers in turns, after a turn that is not counted. Returns medians. */
async function inTurns(
  filled: readonly Filled[],
  read: (one: Filled) => Promise<Measured>,
): Promise<{ readonly cpuMs: readonly number[]; readonly bytes: readonly number[] }> {
  const times = new Map<Filled, number[]>(filled.map((one) => [one, []]));
  const bytes = new Map<Filled, number>();
  for (let round = 0; round <= ROUNDS; round++) {
    for (const one of filled) {
      const { cpuMs, received } = await read(one);
      if (round > 0) times.get(one)?.push(cpuMs);
      bytes.set(one, received.bytes / 1_000);
    }
  }
  return {
    cpuMs: filled.map((one) => median(times.get(one) ?? [])),
    bytes: filled.map((one) => bytes.get(one) ?? Number.NaN),
  };
}
