import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tidemark } from '@tidemark/core';
import { DeviceConnection } from '../bench-device.ts';
import { type BenchDevice, makeDevices, openDeviceWorld } from '../device-world.ts';
import { median } from '../measure.ts';
import type { Row } from '../row.ts';
import { objectsFrom } from '../world.ts';

const OBJECTS = 100_000;
const BATCH = 10_000;
const ROUNDS = 9;
/** Rounds before that, until everything is compiled that is going to be. */
const WARM_UP_ROUNDS = 4;

/**
 * What a first sync of 100,000 objects costs the server in CPU, in pages and as a snapshot, against the same edge
 * sending the same bytes from memory. Sources of users are read anew for each device; those that are shared come from
 * the cache for all but the first.
 */
export async function fleetFirstSync(): Promise<readonly Row[]> {
  const { world, furniture: devices } = await openDeviceWorld(async (tidemark) => {
    const made = await makeDevices(tidemark, 2);
    await fill(tidemark, made[0]);
    return made;
  });
  const [device] = devices;
  if (device === undefined) throw new Error('there is no device');
  const connection = new DeviceConnection(world.url, device);
  const bodies = await connection.catchUp('Own');
  for (const [index, body] of bodies.entries()) writeFileSync(join(world.pagesFolder, String(index)), body);
  await connection.catchUp('Shared');
  const cpuOf = async (work: () => Promise<unknown>) => {
    const before = await world.server.cpuMs();
    await work();
    return (await world.server.cpuMs()) - before;
  };
  const cpuMs = await medians({
    own: () => cpuOf(() => connection.catchUp('Own')),
    shared: () => cpuOf(() => connection.catchUp('Shared')),
    bare: () => cpuOf(() => sendPages(connection, bodies.length)),
    ownStream: () => cpuOf(() => connection.send('GET', '/sync/v1/sources/Own/snapshot', '')),
    sharedStream: () => cpuOf(() => connection.send('GET', '/sync/v1/sources/Shared/snapshot', '')),
    bareStream: () => cpuOf(() => connection.send('GET', '/bare/stream', '')),
  });
  connection.close();
  await world.close();
  return [
    row('first sync in pages, own data, CPU', cpuMs.own, cpuMs.bare, 2),
    row('first sync in pages, from the cache, CPU', cpuMs.shared, cpuMs.bare, 1.2),
    row('first sync as a snapshot, own data, CPU', cpuMs.ownStream, cpuMs.bareStream, 2),
    row('first sync as a snapshot, from the cache, CPU', cpuMs.sharedStream, cpuMs.bareStream, 1.2),
  ];
}

async function fill(tidemark: Tidemark, device: BenchDevice | undefined): Promise<void> {
  await tidemark.sources.declare({ name: 'Shared', partition_type: 'app' });
  await tidemark.sources.declare({ name: 'Own' });
  for (let start = 0; start < OBJECTS; start += BATCH) {
    const objects = objectsFrom(start, BATCH);
    await tidemark.fastInsert({ source: 'Shared', objects });
    await tidemark.fastInsert({ source: 'Own', user_id: device?.user, objects });
  }
}

/** The same requests as a device sends, to a route that only sends. */
async function sendPages(connection: DeviceConnection, pages: number): Promise<void> {
  const body = JSON.stringify({ client_id: connection.device.client, sources: { Own: { token: 'x'.repeat(60) } } });
  for (let page = 0; page < pages; page++) await connection.send('POST', `/bare/pages/${page}`, body);
}

/** In turns, so that whatever else the machine does hits all of them alike. */
async function medians<Name extends string>(
  costs: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Readonly<Record<Name, number>>> {
  const names = Object.keys(costs) as Name[];
  const times = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    for (const name of names) {
      const cpuMs = await costs[name]();
      if (round >= WARM_UP_ROUNDS) times.get(name)?.push(cpuMs);
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(times.get(name) ?? [])])) as Record<Name, number>;
}

function row(name: string, ours: number, bare: number, atMost: number): Row {
  return {
    name,
    measured: `${ours.toFixed(0)} ms`,
    against: `${bare.toFixed(0)} ms to send the same bytes from memory`,
    ratio: ours / bare,
    bound: { atMost },
  };
}
