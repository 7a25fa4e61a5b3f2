import type { Command } from '../runner/command.ts';
import { failureOf, type Simulation, type SimulationFailure } from '../runner/simulation.ts';
import { runSimulation, simulationOptions } from '../runner/simulation-command.ts';
import { demand } from '../runner/violation.ts';
import { checkProblems, checkShown } from './checks.ts';
import { drawHistory } from './draw-history.ts';
import { HistoryRun } from './history-run.ts';
import { perform } from './perform-step.ts';
import type { SdkPlant } from './plant.ts';
import type { SdkDevice } from './sdk-device.ts';
import { type SdkHistory, SOURCES } from './step.ts';

const HISTORIES_DEFAULT = 500;
const ROUND_MS = 120_000;
/** Enough for every job and for the pauses after failures. */
const ROUNDS_MAX = 6;

/** Random histories of SDK devices in one process and in virtual time, with groups, a backend, tabs and sign-ins. */
export const sdkSimulation: Simulation<SdkHistory> = {
  name: 'sdk',
  drawHistory,
  openRunners: async () => [{ run: (history) => runHistory(history), close: async () => undefined }],
};

/** Runs one history. Returns the first failure; null: the history passed. */
export async function runHistory(history: SdkHistory, plant: SdkPlant = {}): Promise<SimulationFailure | null> {
  const run = new HistoryRun(history, plant);
  try {
    return await failureOf(history, `npm run sim -- sdk --seed ${history.seed}`, async (progress) => {
      await run.open();
      for (const step of history.steps) {
        progress.step++;
        await perform(run, step);
        throwNoticed(run);
      }
      progress.step++;
      await end(run);
    });
  } finally {
    for (const device of run.devices) device.killAll();
    run.server.platform.forgetTimers();
  }
}

function throwNoticed({ server }: HistoryRun): void {
  const [first] = server.violations;
  if (first !== undefined) throw first;
}

/** Everything works again: all changes arrive, and all devices show what the server has. */
async function end(run: HistoryRun): Promise<void> {
  const { server } = run;
  server.isDown = false;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await server.versions.convert();
    for (const sdk of run.devices) await awaken(sdk);
    for (const sdk of run.devices) await sdk.sync();
    // A job that runs after the sync changes what the devices do not show yet.
    const isSettled = await isQuiet(run);
    await server.runJobs();
    throwNoticed(run);
    // Groups may still fail, and the device shows the others. They work again after the first round.
    const areDone = round > 0 && isSettled;
    server.failing = new Set();
    if (areDone) break;
    await server.platform.advance(ROUND_MS);
  }
  demand((await server.jobsLeft()) === 0, 'SIM-18', () => 'jobs are left');
  for (const [index, sdk] of run.devices.entries()) checkProblems(run, index, sdk);
  await run.ledger.check(run.owners(), (owner) => server.objects(owner));
  for (const sdk of run.devices) {
    for (const device of sdk.running) {
      demand(device.uploads.list().length === 0, 'SIM-18', () => {
        return `the queue of ${sdk.host} is ${JSON.stringify(device.uploads.list())}`;
      });
      const { heals } = device.status.getSnapshot();
      demand(heals === 0, 'SIM-18', () => `${sdk.host} found ${heals} times that its objects are wrong`);
      for (const source of SOURCES) await checkShown(run, { sdk, device }, source, 'SIM-18');
    }
  }
}

async function isQuiet({ devices, server }: HistoryRun): Promise<boolean> {
  const waiting = devices.some(({ running }) => running.some(({ uploads }) => uploads.list().length > 0));
  return !waiting && (await server.jobsLeft()) === 0;
}

async function awaken(sdk: SdkDevice): Promise<void> {
  sdk.thaw(0);
  sdk.thaw(1);
  await sdk.open();
  sdk.setOffline(false);
  await sdk.signIn();
}

export const sdkCommand: Command = {
  name: 'sdk',
  summary: 'SDK devices in one process: groups, a backend that fails, tabs that change, wipes, users who are replaced.',
  options: simulationOptions(HISTORIES_DEFAULT),
  run: (options) => runSimulation(sdkSimulation, options, HISTORIES_DEFAULT),
};
