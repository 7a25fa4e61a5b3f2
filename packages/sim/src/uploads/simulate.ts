import { isDeepStrictEqual } from 'node:util';
import type { ModelPartition } from '../model/partition.ts';
import { partitionText } from '../model/partition.ts';
import type { Command } from '../runner/command.ts';
import { failureOf, type Simulation, type SimulationFailure } from '../runner/simulation.ts';
import { runSimulation, simulationOptions } from '../runner/simulation-command.ts';
import { Violation } from '../runner/violation.ts';
import { drawHistory } from './draw-history.ts';
import { HistoryRun } from './history-run.ts';
import { MdChecker, objectsOf } from './md-checker.ts';
import type { Plant } from './planted-bugs.ts';
import { type Action, partitionOf, sourceAt, type UploadsHistory, USERS } from './step.ts';

const STEP_MS = 1_000;
const ROUND_MS = 600_000;
/** Enough for every job, and for every wait after failed refreshes. */
const ROUNDS_MAX = 40;
const HELD_CALLS_MAX = 1_000;
const JOBS_PER_ROUND = 20;
const NO_FAULTS = { down: 0, lost: 0, heldBefore: 0, heldAfter: 0 };

/** Random histories of uploads to a backend that fails, with jobs, crashes and users who are replaced. */
export const uploadSimulation: Simulation<UploadsHistory> = {
  name: 'uploads',
  drawHistory,
  openRunners: async () => [{ run: (history) => runHistory(history), close: async () => undefined }],
};

/** Runs one history on a new server. Returns the first failure; null: the history passed. */
export function runHistory(history: UploadsHistory, plant: Plant = {}): Promise<SimulationFailure | null> {
  const run = new HistoryRun(history, plant);
  const checker = new MdChecker(run);
  return failureOf(history, `npm run sim -- uploads --seed ${history.seed}`, async (progress) => {
    await run.open();
    for (const step of history.steps) {
      run.ledger.step = ++progress.step;
      run.clock.ms += STEP_MS;
      await run.during(step.delaySeed, () => perform(run, step));
      await check(run, checker);
    }
    run.ledger.step = ++progress.step;
    await settle(run, checker);
    await compareWithBackend(run);
  });
}

async function check({ ledger }: HistoryRun, checker: MdChecker): Promise<void> {
  await checker.check();
  const [violation] = ledger.violations;
  if (violation !== undefined) throw violation;
}

async function perform(run: HistoryRun, action: Action): Promise<void> {
  const device = 'device' in action ? run.devices[action.device % run.devices.length] : undefined;
  switch (action.kind) {
    case 'edit':
      return device?.edit(action);
    case 'push':
      return device && run.push(device, action.times, action.acknowledges);
    case 'pull':
      return device && run.pull(device, action.acknowledges);
    case 'set_faults':
      run.backend.faults = action.faults;
      return;
    case 'release':
      return run.backend.release(action.pick, action.isAnswered);
    case 'run_jobs':
      return run.runJobs(action.count);
    case 'time_passes':
      run.clock.ms += action.ms;
      return;
    case 'backend_edit':
      return editInBackend(run, action);
    case 'replace_user':
      return run.replaceUser(userAt(action.user));
    case 'crash':
      return run.crash();
  }
}

async function editInBackend(
  { backend, ledger }: HistoryRun,
  { source, user, pick, op, isPushed }: Extract<Action, { kind: 'backend_edit' }>,
): Promise<void> {
  const partition = partitionOf(sourceAt(source).name, userAt(user));
  const number = ledger.nextNumber();
  const ids = [...backend.objects(partition).keys()];
  const id = op === 'make' ? `k${pick % 2}` : ids[pick % Math.max(1, ids.length)];
  if (id === undefined) return;
  const attributes = op === 'delete' ? null : { backend: ledger.value(partition.user, number) };
  await backend.edit(partition, id, attributes, isPushed);
}

function userAt(pick: number): string {
  return USERS[pick % USERS.length] ?? USERS[0];
}

/** Without faults, every device sends its uploads and gets the outcome of each. */
async function settle(run: HistoryRun, checker: MdChecker): Promise<void> {
  run.backend.faults = NO_FAULTS;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    run.clock.ms += ROUND_MS;
    for (let held = 0; run.backend.heldCount > 0 && held < HELD_CALLS_MAX; held++) {
      await run.during(0, () => run.backend.release(0, true));
    }
    for (const device of run.devices) {
      if (device.outbox.length > 0) await run.during(0, () => run.push(device, 1, false));
    }
    await run.during(0, () => run.runJobs(JOBS_PER_ROUND));
    for (const device of run.devices) await run.during(0, () => run.pull(device, true));
    await check(run, checker);
    if (run.backend.heldCount === 0 && (await run.jobsLeft()) === 0 && openOf(run).length === 0) return;
  }
  const left = `${await run.jobsLeft()} jobs, no outcome of ${openOf(run).join(', ') || 'none'}`;
  throw new Violation('UPSIM-1', `uploads do not finish: ${left}`);
}

function openOf({ devices }: HistoryRun): readonly string[] {
  return devices.flatMap(({ open }) => open.map(({ upload }) => upload.op_id));
}

/** Checks that md is what the backend has, after one more refresh. */
async function compareWithBackend(run: HistoryRun): Promise<void> {
  run.clock.ms += ROUND_MS;
  for (const device of run.devices) await run.during(0, () => run.pull(device, true));
  for (const partition of run.partitions) {
    if (!isPulled(run, partition)) continue;
    const md = Object.fromEntries(await objectsOf(run, partition));
    const backend = Object.fromEntries(run.backend.objects(partition));
    if (isDeepStrictEqual(plain(md), plain(backend))) continue;
    const detail = `md of ${partitionText(partition)} is ${JSON.stringify(md)}, the backend has ${JSON.stringify(backend)}`;
    throw new Violation('UPSIM-5', detail);
  }
  const [violation] = run.ledger.violations;
  if (violation !== undefined) throw violation;
}

function isPulled({ devices }: HistoryRun, { user }: ModelPartition): boolean {
  return user === null || devices.some((device) => device.user === user);
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

const HISTORIES_DEFAULT = 2_000;

export const uploadsCommand: Command = {
  name: 'uploads',
  summary: 'Random histories of uploads to a backend that fails, with jobs, crashes and users who are replaced.',
  options: simulationOptions(HISTORIES_DEFAULT),
  run: (options) => runSimulation(uploadSimulation, options, HISTORIES_DEFAULT),
};
