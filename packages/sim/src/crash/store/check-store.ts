import type { Tidemark } from '@tidemark/core';
import { parseJson } from '@tidemark/protocol';
import type { Dice } from '@tidemark/testing/kit';
import { objectText } from '../../model/objects.ts';
import type { PageRead } from '../../model/page.ts';
import { callOf } from '../../model/partition.ts';
import { factKey } from './facts.ts';
import { deviceTarget, loginOf, partitionOf, WRITERS } from './names.ts';
import { type Problem, problemAbout } from './problem.ts';
import { readStore } from './read-store.ts';
import type { Settlement, World } from './world.ts';

const PAGES_MAX = 10_000;

export interface Check {
  readonly settlement: Settlement;
  readonly problems: readonly Problem[];
}

/** Compares a store that nobody writes to with the model: its content, then what devices get from it. */
export async function checkStore(tidemark: Tidemark, world: World, dice: Dice): Promise<Check> {
  const settlement = world.settle(await readStore(tidemark));
  const problems = [...world.takeProblems()];
  // Devices of a wrong store would only repeat its problems.
  if (problems.length > 0) return { settlement, problems };
  for (const writer of WRITERS) {
    if (hasPartition(world, writer)) problems.push(...(await checkDevice(tidemark, world, writer, dice)));
  }
  return { settlement, problems };
}

function hasPartition({ facts }: World, writer: number): boolean {
  const { source, user } = partitionOf(writer, deviceTarget(writer));
  return facts.has(factKey.source(source)) && (user === null || facts.has(factKey.user(loginOf(writer))));
}

/** Lets the device catch up with the token it had before the crash. Then it must hold exactly md. */
async function checkDevice(tidemark: Tidemark, world: World, writer: number, dice: Dice): Promise<readonly Problem[]> {
  const objectsMax = dice.pick([1_000, 1_000, dice.between(20, 200)]);
  await catchUp(tidemark, world, writer, objectsMax);
  const device = world.devices[writer]?.device;
  const held = new Map([...(device?.objects ?? [])].map(([id, { attributes }]) => [id, objectText(attributes)]));
  const prefix = factKey.object(partitionOf(writer, deviceTarget(writer)), '');
  const wanted = new Map([...world.facts].filter(([key]) => key.startsWith(prefix)));
  const wrong = [...wanted].filter(([key, text]) => held.get(key.slice(prefix.length)) !== text).map(([key]) => key);
  const problems = [...world.takeProblems()];
  if (wrong.length > 0 || held.size !== wanted.size) {
    const what = `the device of writer ${writer} holds ${held.size} objects instead of ${wanted.size}; different`;
    problems.push(problemAbout('CRASH-6', what, wrong));
  }
  const token = device?.token ?? null;
  const again = await pull(tidemark, writer, token, objectsMax);
  const { size, checksum } = again;
  if (JSON.stringify(again) !== JSON.stringify({ token, more: false, size, checksum })) {
    problems.push(problemAbout('CRASH-6', 'a device that has caught up gets more', [JSON.stringify(again)]));
  }
  return problems;
}

async function catchUp(tidemark: Tidemark, world: World, writer: number, objectsMax: number): Promise<void> {
  for (let count = 0; count < PAGES_MAX; count++) {
    const token = world.devices[writer]?.device.token ?? null;
    const page = await pull(tidemark, writer, token, objectsMax);
    world.deliver(writer, page);
    if (!page.more) return;
  }
  throw new Error(`the device of writer ${writer} did not catch up in ${PAGES_MAX} pages`);
}

async function pull(tidemark: Tidemark, writer: number, token: string | null, objectsMax: number): Promise<PageRead> {
  const { json } = await tidemark.pull({ ...callOf(partitionOf(writer, deviceTarget(writer))), token, objectsMax });
  return parseJson(json) as PageRead;
}
