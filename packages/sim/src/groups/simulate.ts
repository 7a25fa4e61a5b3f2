import { isDeepStrictEqual } from 'node:util';
import type { Store } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { openMemoryStore, seededRandom, temporaryFolder } from '@tidemark/testing/kit';
import type { Command } from '../runner/command.ts';
import { failureOf, type Runner, type Simulation, type SimulationFailure } from '../runner/simulation.ts';
import { runSimulation, simulationOptions } from '../runner/simulation-command.ts';
import { demand } from '../runner/violation.ts';
import { checkDelivery } from './check-delivery.ts';
import { drawHistory } from './draw-history.ts';
import { unionOf } from './group-device.ts';
import { HistoryRun } from './history-run.ts';
import type { GroupPlant } from './plant.ts';
import { DEVICE_USERS, type GroupHistory, LARGE_PAGE, SOURCES, type Step } from './step.ts';

const STEP_MS = 1_000;
/** After a failure the backend is not asked again for a while. Set tokens must outlast it, because devices start anew without them. */
const REPAIR_MS = 900_000;
/** Enough for every object of few groups one by one. */
const PULLS_AT_END_MAX = 120;
/** Enough for the pages of many groups with all their objects. */
const LARGE_PULLS_AT_END_MAX = 10;
const HISTORIES_DEFAULT = 2_000;
const ENGINES = ['memory', 'embedded'] as const;
type Engine = (typeof ENGINES)[number];

/** Random histories of groups: members who come and go, wipes, moves, uploads and a backend that fails for some groups. */
export function groupSimulation(engine: Engine): Simulation<GroupHistory> {
  return {
    name: `groups on ${engine}`,
    drawHistory,
    openRunners: async () => [engine === 'memory' ? memoryRunner() : await embeddedRunner()],
    simplifyStep,
  };
}

export function memoryRunner(plant?: GroupPlant): Runner<GroupHistory> {
  return {
    run: (history) => runHistory(openMemoryStore({ random: seededRandom(history.seed) }), history, plant),
    close: async () => undefined,
  };
}

/** Runs histories on a store that is emptied before each of them. */
export function storeRunner(store: Store): Runner<GroupHistory> {
  return {
    run: async (history) => {
      await store.reset([]);
      return runHistory(store, history);
    },
    close: async () => undefined,
  };
}

export async function embeddedRunner(): Promise<Runner<GroupHistory>> {
  const folder = await temporaryFolder();
  const store = await openEmbeddedStore({ folder: folder.path });
  const close = async () => {
    await store.close();
    await folder.remove();
  };
  return { ...storeRunner(store), close };
}

/** Runs one history on an empty store. Returns the first failure; null: the history passed. */
function runHistory(store: Store, history: GroupHistory, plant: GroupPlant = {}): Promise<SimulationFailure | null> {
  return failureOf(history, `npm run sim -- groups --seed ${history.seed}`, async (progress) => {
    const run = await HistoryRun.open(store, history, plant);
    for (const step of history.steps) {
      progress.step++;
      run.server.clock.advance(STEP_MS);
      await perform(run, step);
    }
    progress.step++;
    await end(run, history);
  });
}

async function perform(run: HistoryRun, step: Step): Promise<void> {
  switch (step.kind) {
    case 'move':
      return run.move(step, 'meanwhile' in step ? step.meanwhile : null);
    case 'push':
      return run.push(step);
    case 'pull':
      return run.pull(step);
    case 'sync_once':
      await run.catchUp(step.device, LARGE_PAGE, LARGE_PULLS_AT_END_MAX);
      if (step.confirms) await run.catchUp(step.device, LARGE_PAGE, 1);
      return;
    case 'acknowledge':
      return run.acknowledge(step.device);
    case 'join_many':
      return run.joinMany(step.user);
    case 'backend_put':
      return run.putInBackend(step.group, step.id);
    case 'backend_fails':
      run.server.backend.failing = new Set(step.groups);
      return;
    case 'explain':
      return checkDelivery(run, step.device);
    default:
      return run.change(step);
  }
}

/** Every device gets all of its groups: of those whose backend works at once, of the others when it works again. */
async function end(run: HistoryRun, { objectsMax }: GroupHistory): Promise<void> {
  for (const index of DEVICE_USERS.keys()) await checkDelivery(run, index);
  run.server.clock.advance(REPAIR_MS);
  for (const index of DEVICE_USERS.keys()) await catchUp(run, index, objectsMax);
  // A device in the middle of its pages goes on with the state in which it began, and asks no backend.
  for (const index of DEVICE_USERS.keys()) await catchUp(run, index, objectsMax);
  await compare(run, run.server.backend.failing);
  run.server.backend.failing = new Set();
  run.server.clock.advance(REPAIR_MS);
  for (const index of DEVICE_USERS.keys()) await catchUp(run, index, objectsMax);
  await compare(run, new Set());
  for (const index of DEVICE_USERS.keys()) await checkDelivery(run, index);
}

async function catchUp(run: HistoryRun, index: number, objectsMax: number): Promise<void> {
  const pullsMax = objectsMax === LARGE_PAGE ? LARGE_PULLS_AT_END_MAX : PULLS_AT_END_MAX;
  const pulls = await run.catchUp(index, objectsMax, pullsMax);
  demand(pulls !== null, 'SIM-14', () => `device ${index} pulls ${pullsMax} times and there is still more`);
}

async function compare(run: HistoryRun, failing: ReadonlySet<string>): Promise<void> {
  for (const [index, user] of DEVICE_USERS.entries()) {
    const groups = run.model.groupsOf(user).filter((group) => !failing.has(group));
    const device = run.device(index);
    for (const source of SOURCES) {
      const read = groups.map(async (group) => [group, await run.server.objects(source, group)] as const);
      const wanted = unionOf(new Map(await Promise.all(read)));
      const held = unionOf(new Map([...device.held(source)].filter(([group]) => !failing.has(group))));
      demand(
        isDeepStrictEqual(held, wanted),
        failing.size > 0 ? 'SIM-14' : 'GROUP-23',
        () => `device ${index} of ${user} holds ${JSON.stringify(held)} of ${source}, not ${JSON.stringify(wanted)}`,
      );
      if (source === 'Trip') checkRefreshed(run, groups, new Map(await Promise.all(read)));
    }
  }
}

/** The groups whose backend works have what the backend has. */
function checkRefreshed(
  run: HistoryRun,
  groups: readonly string[],
  stored: ReadonlyMap<string, ReadonlyMap<string, unknown>>,
): void {
  for (const group of groups) {
    const wanted = Object.fromEntries(run.server.backend.objects(group));
    const actual = Object.fromEntries(stored.get(group) ?? []);
    demand(
      isDeepStrictEqual(actual, wanted),
      'SIM-14',
      () => `Trip/${group} has ${JSON.stringify(actual)}, the backend has ${JSON.stringify(wanted)}`,
    );
  }
}

function simplifyStep(step: Step): readonly Step[] {
  const simpler: Step[] = [];
  if ('meanwhile' in step && step.meanwhile !== null) {
    simpler.push({ ...step, meanwhile: null });
    const { meanwhile } = step;
    if (meanwhile.changes.length > 1) {
      for (const at of meanwhile.changes.keys()) {
        simpler.push({ ...step, meanwhile: { ...meanwhile, changes: meanwhile.changes.toSpliced(at, 1) } });
      }
    }
  }
  if (step.kind === 'move' && step.ids.length > 1) {
    for (const at of step.ids.keys()) simpler.push({ ...step, ids: step.ids.toSpliced(at, 1) });
  }
  if (step.kind === 'pull' && step.times !== 1) simpler.push({ ...step, times: 1 });
  return simpler;
}

export const groupsCommand: Command = {
  name: 'groups',
  summary:
    'Random histories of groups: members come and go, moves, uploads, wipes, lost answers, a backend that fails per group.',
  options: [
    ...simulationOptions(HISTORIES_DEFAULT),
    { name: 'engine', value: 'E', help: `${ENGINES.join(', ')} (default ${ENGINES[0]})` },
  ],
  run: (options) => runSimulation(groupSimulation(options.choice('engine', ENGINES)), options, HISTORIES_DEFAULT),
};
