import { mentions } from '../model/page.ts';
import { demand } from '../runner/violation.ts';
import { roundTrip } from './perform-pull.ts';
import type { SimulatedDevice, World } from './world.ts';

/** Pulls that a device may need beyond its backlog: one to learn that it is done, one to start over. */
const PULLS_TO_SPARE = 2;

/** Checks that a device without faults catches up within a bounded number of pulls, and then gets nothing more. */
export async function converge(world: World, device: SimulatedDevice, objectsMax: number): Promise<void> {
  const backlog = backlogOf(world, device);
  let answer = await roundTrip(world, device, { objectsMax });
  const behind = answer.page.reset === true ? world.oracle.snapshot(device.partition).size : backlog;
  const pullsMax = Math.ceil(behind / objectsMax) + PULLS_TO_SPARE;
  for (let pulls = 1; answer.page.more; pulls++) {
    demand(
      pulls < pullsMax,
      'SIM-9',
      () => `${behind} changes behind, pages of ${objectsMax}: not done in ${pulls} pulls`,
    );
    answer = await roundTrip(world, device, { objectsMax });
  }
  await checkQuiet(world, device, objectsMax);
}

/** Returns how many objects and tombstones the device may still have to get. */
function backlogOf(world: World, { partition, model }: SimulatedDevice): number {
  const { objects, touched } = world.oracle.state(partition);
  const base = world.tokens.find(partition, model.token)?.base;
  if (base === undefined || base === null) return new Set([...objects.keys(), ...touched.keys()]).size;
  return [...touched.values()].filter((time) => time > base.time).length;
}

async function checkQuiet(world: World, device: SimulatedDevice, objectsMax: number): Promise<void> {
  const before = device.model.copy();
  const { page } = await roundTrip(world, device, { objectsMax });
  const isQuiet = mentions(page).length === 0 && page.reset !== true && !page.more && page.token === before.token;
  demand(isQuiet, 'SIM-9', () => `a device that had everything was sent ${JSON.stringify(page)}`);
}
