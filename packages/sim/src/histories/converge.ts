import { roundTrip } from './perform-pull.ts';
import { mentions } from './read-page.ts';
import { demand } from './violation.ts';
import type { Station, World } from './world.ts';

/** Pulls a device may need beyond those that its backlog fills: one to learn that it is done, one to start over. */
const PULLS_TO_SPARE = 2;

/** With all faults off, a device catches up within a bounded number of pulls, and then hears nothing more. */
export async function converge(world: World, station: Station, objectsMax: number): Promise<void> {
  const backlog = backlogOf(world, station);
  let answer = await roundTrip(world, station, { objectsMax });
  const behind = answer.page.reset === true ? world.oracle.snapshot(station.place).size : backlog;
  const pullsMax = Math.ceil(behind / objectsMax) + PULLS_TO_SPARE;
  for (let pulls = 1; answer.page.more; pulls++) {
    demand(
      pulls < pullsMax,
      'SIM-9',
      () => `${behind} changes behind, pages of ${objectsMax}: not done in ${pulls} pulls`,
    );
    answer = await roundTrip(world, station, { objectsMax });
  }
  await checkQuiet(world, station, objectsMax);
}

/** How many objects and tombstones the device may still have to hear of. */
function backlogOf(world: World, { place, device }: Station): number {
  const { objects, touched } = world.oracle.state(place);
  const base = world.tokens.find(place, device.token)?.base;
  if (base === undefined || base === null) return new Set([...objects.keys(), ...touched.keys()]).size;
  return [...touched.values()].filter((time) => time > base.time).length;
}

async function checkQuiet(world: World, station: Station, objectsMax: number): Promise<void> {
  const before = station.device.copy();
  const { page } = await roundTrip(world, station, { objectsMax });
  const isQuiet = mentions(page).length === 0 && page.reset !== true && !page.more && page.token === before.token;
  demand(isQuiet, 'SIM-9', () => `a device that had everything was sent ${JSON.stringify(page)}`);
}
