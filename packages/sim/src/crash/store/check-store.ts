import type { Tidemark } from '@tidemark/core';
import { parseJson, Refusal } from '@tidemark/protocol';
import type { Rng } from '@tidemark/testing/kit';
import { objectText } from '../../model/objects.ts';
import type { PageRead } from '../../model/page.ts';
import { factKey } from './facts.ts';
import { clientOf, deviceTarget, partitionOf, WRITERS } from './names.ts';
import type { PullOperation } from './operation.ts';
import { performOperation } from './perform-operation.ts';
import { type Problem, problemAbout } from './problem.ts';
import { readStore } from './read-store.ts';
import type { Settlement, StoreModel } from './store-model.ts';

const PAGES_MAX = 10_000;

export interface Check {
  readonly settlement: Settlement;
  readonly problems: readonly Problem[];
}

/** Compares a store that nobody writes to with the model: its content, then what devices get from it. */
export async function checkStore(tidemark: Tidemark, model: StoreModel, rng: Rng): Promise<Check> {
  const settlement = model.settle(await readStore(tidemark));
  const problems = [...model.takeProblems()];
  // Devices of a wrong store would only repeat its problems.
  if (problems.length > 0) return { settlement, problems };
  for (const writer of WRITERS) {
    const isRegistered = model.facts.has(factKey.client(clientOf(writer)));
    const check = isRegistered ? checkDevice(tidemark, model, writer, rng) : checkRefused(tidemark, writer);
    problems.push(...(await check));
  }
  return { settlement, problems };
}

/** A device that is not registered, or whose user was deleted, gets nothing. */
async function checkRefused(tidemark: Tidemark, writer: number): Promise<readonly Problem[]> {
  const pulled = performOperation(tidemark, writer, pullOf(writer, null, 1));
  const answer = await pulled.catch((error: unknown) => error);
  if (answer instanceof Refusal && answer.code === 'client_not_found') return [];
  const what = `the device of writer ${writer}, which is not registered, should be refused`;
  return [problemAbout('CRASH-6', what, [answer instanceof Error ? String(answer) : JSON.stringify(answer)])];
}

/** Lets the device catch up with the token it had before the crash. Then it must hold exactly md. */
async function checkDevice(
  tidemark: Tidemark,
  model: StoreModel,
  writer: number,
  rng: Rng,
): Promise<readonly Problem[]> {
  const objectsMax = rng.pick([1_000, 1_000, rng.between(20, 200)]);
  await catchUp(tidemark, model, writer, objectsMax);
  const device = model.devices[writer]?.device;
  const held = new Map([...(device?.objects ?? [])].map(([id, { attributes }]) => [id, objectText(attributes)]));
  const prefix = factKey.object(partitionOf(writer, deviceTarget(writer)), '');
  const wanted = new Map([...model.facts].filter(([key]) => key.startsWith(prefix)));
  const wrong = [...wanted].filter(([key, text]) => held.get(key.slice(prefix.length)) !== text).map(([key]) => key);
  const problems = [...model.takeProblems()];
  if (wrong.length > 0 || held.size !== wanted.size) {
    const what = `the device of writer ${writer} holds ${held.size} objects instead of ${wanted.size}; different`;
    problems.push(problemAbout('CRASH-6', what, wrong));
  }
  const token = device?.token ?? null;
  const again = await pull(tidemark, model, writer, objectsMax);
  const { size, checksum } = again;
  if (JSON.stringify(again) !== JSON.stringify({ token, more: false, size, checksum })) {
    problems.push(problemAbout('CRASH-6', 'a device that has caught up gets more', [JSON.stringify(again)]));
  }
  return [...problems, ...model.takeProblems()];
}

async function catchUp(tidemark: Tidemark, model: StoreModel, writer: number, objectsMax: number): Promise<void> {
  for (let count = 0; count < PAGES_MAX; count++) {
    const { more } = await pull(tidemark, model, writer, objectsMax);
    if (!more) return;
  }
  throw new Error(`the device of writer ${writer} did not catch up in ${PAGES_MAX} pages`);
}

/** Pulls with the token of the device. The model gets the page and the tidemark as if a worker had reported them. */
async function pull(tidemark: Tidemark, model: StoreModel, writer: number, objectsMax: number): Promise<PageRead> {
  const operation = pullOf(writer, model.devices[writer]?.device.token ?? null, objectsMax);
  model.add({ say: 'begin', writer, operation });
  const answer = await performOperation(tidemark, writer, operation);
  model.add({ say: 'done', writer, answer });
  if (answer.kind !== 'page') throw new Error(`a pull was answered with ${answer.kind}`);
  return parseJson(answer.text) as PageRead;
}

function pullOf(writer: number, token: string | null, objectsMax: number): PullOperation {
  return { kind: 'pull', target: deviceTarget(writer), token, objectsMax };
}
