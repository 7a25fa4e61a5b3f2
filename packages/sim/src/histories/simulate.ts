import { mentions } from '../model/page.ts';
import type { Command } from '../runner/command.ts';
import { failedSeedsOf } from '../runner/failed-seeds.ts';
import { failureOf, runCampaign, type Simulation, type SimulationFailure, seedsFrom } from '../runner/simulation.ts';
import { runSimulation, simulationOptions } from '../runner/simulation-command.ts';
import { demand } from '../runner/violation.ts';
import { checkDelivery } from './check-delivery.ts';
import { checkAllDocuments, checkEverywhere, checkWritten } from './check-documents.ts';
import { drawHistory } from './draw-history.ts';
import { ENGINES, type Engine, openEngines } from './engines.ts';
import { HistoryRun, type SimulatedDevice } from './history-run.ts';
import { USERS } from './partitions.ts';
import { roundTrip } from './perform-pull.ts';
import { performStep } from './perform-step.ts';
import type { MakeServer } from './server-under-test.ts';
import { simplifyStep } from './simplify-step.ts';
import type { SyncHistory } from './step.ts';

const FIRST_DAY_MS = 1_700_000_000_000;
/** The time that passes between two steps. */
const STEP_MS = 1_000;
/** Damage to partitions that a step did not touch is still there some steps later, and at the end. */
const CHECK_EVERYWHERE_EVERY_STEPS = 10;

/** Random histories of writes, trims, resets and pulling devices, compared with an oracle. */
function syncSimulation(engine: Engine): Simulation<SyncHistory> {
  return {
    name: `histories on ${engine}`,
    drawHistory,
    simplifyStep,
    openRunners: async () => {
      const engines = await openEngines(engine);
      return engines.map(({ makeServer, close }) => ({
        run: (history) => runHistory(history, makeServer, engine),
        close,
      }));
    },
  };
}

/** Runs one history on a new server. Returns the first failure; null: the history passed. */
export async function runHistory(
  history: SyncHistory,
  makeServer: MakeServer,
  engine: Engine = 'memory',
): Promise<SimulationFailure | null> {
  const clock = { nowMs: FIRST_DAY_MS };
  let delaySeed = 0;
  const server = await makeServer({ seed: history.seed, nowMs: () => clock.nowMs, delaySeed: () => delaySeed });
  const replay = `npm run sim -- histories --seed ${history.seed} --engine ${engine}`;
  return failureOf(history, replay, async (progress) => {
    const run = new HistoryRun(server, clock, history);
    for (const user of USERS) await run.createUser(user);
    for (const step of history.steps) {
      progress.step++;
      delaySeed = step.delaySeed;
      clock.nowMs += STEP_MS;
      await performStep(run, step);
      await checkWritten(run);
      if (progress.step % CHECK_EVERYWHERE_EVERY_STEPS !== 0) continue;
      await checkEverywhere(run);
      await checkDelivery(run);
    }
    progress.step++;
    delaySeed = 0;
    await finish(run, history);
  });
}

async function finish(run: HistoryRun, history: SyncHistory): Promise<void> {
  for (const [index, device] of run.devices.entries()) await converge(run, device, history.lastPages[index] ?? 1);
  await checkAllDocuments(run);
  await checkDelivery(run);
  const findings = await run.server.verify();
  demand(findings.length === 0, 'SIM-1', () => `verify found: ${findings.join(' ')}`);
}

export interface HistoryCounts {
  /** How many random histories `npm test` runs. */
  readonly everyday: number;
  /** How many `npm run test:long` runs; the everyday ones are among them. */
  readonly long: number;
  readonly firstSeed: number;
}

/** Ends a test that hangs. Histories take as long as the machine needs, so this is far beyond every run seen. */
export const HISTORIES_TIMEOUT_MS = 3_600_000;

/** Runs the failed seeds of an engine, then random histories. Throws the first failure. */
export async function testHistories(
  engine: Engine,
  { everyday, long, firstSeed }: HistoryCounts,
): Promise<{ readonly ran: number; readonly planned: number }> {
  const count = process.env.TIDEMARK_LONG_TESTS === '1' ? long : everyday;
  const simulation = syncSimulation(engine);
  const seeds = [...(await failedSeedsOf(simulation.name)), ...seedsFrom(firstSeed, count)];
  const { histories, failure } = await runCampaign(simulation, { seeds });
  if (failure !== null) throw failure;
  return { ran: histories, planned: seeds.length };
}

/** Pulls that a device may need beyond its backlog: one to learn that it is done, one to start over. */
const PULLS_TO_SPARE = 2;

/** Checks that a device without faults catches up within a bounded number of pulls, and then gets nothing more. */
async function converge(run: HistoryRun, device: SimulatedDevice, objectsMax: number): Promise<void> {
  const backlog = backlogOf(run, device);
  let answer = await roundTrip(run, device, { objectsMax });
  const behind = answer.page.reset === true ? run.oracle.snapshot(device.partition).size : backlog;
  const pullsMax = Math.ceil(behind / objectsMax) + PULLS_TO_SPARE;
  for (let pulls = 1; answer.page.more; pulls++) {
    demand(
      pulls < pullsMax,
      'SIM-9',
      () => `${behind} changes behind, pages of ${objectsMax}: not done in ${pulls} pulls`,
    );
    answer = await roundTrip(run, device, { objectsMax });
  }
  await checkQuiet(run, device, objectsMax);
}

/** Returns how many objects and tombstones the device may still have to get. */
function backlogOf(run: HistoryRun, { partition, model }: SimulatedDevice): number {
  const { objects, touched } = run.oracle.state(partition);
  const base = run.tokens.find(partition, model.token)?.base;
  if (base === undefined || base === null) return new Set([...objects.keys(), ...touched.keys()]).size;
  return [...touched.values()].filter((time) => time > base.time).length;
}

async function checkQuiet(run: HistoryRun, device: SimulatedDevice, objectsMax: number): Promise<void> {
  const before = device.model.copy();
  const { page } = await roundTrip(run, device, { objectsMax });
  const isQuiet = mentions(page).length === 0 && page.reset !== true && !page.more && page.token === before.token;
  demand(isQuiet, 'SIM-9', () => `a device that had everything was sent ${JSON.stringify(page)}`);
}

const HISTORIES_DEFAULT = 2_000;

export const historiesCommand: Command = {
  name: 'histories',
  summary: 'Random histories of writes, trims, resets and devices with a bad network, compared with an oracle.',
  options: [
    ...simulationOptions(HISTORIES_DEFAULT),
    { name: 'engine', value: 'E', help: `${ENGINES.join(', ')} (default ${ENGINES[0]})` },
  ],
  run: (options) => runSimulation(syncSimulation(options.choice('engine', ENGINES)), options, HISTORIES_DEFAULT),
};
