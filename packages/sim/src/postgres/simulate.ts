import type { Command } from '../runner/command.ts';
import { failureOf, type Runner, type Simulation, type SimulationFailure } from '../runner/simulation.ts';
import { runSimulation, simulationOptions } from '../runner/simulation-command.ts';
import { demand } from '../runner/violation.ts';
import { checkDevices, checkExposure } from './check-devices.ts';
import { runTransactions } from './database.ts';
import { partitionsOf } from './difference.ts';
import { drawHistory } from './draw-history.ts';
import { HistoryRun, Servers } from './history-run.ts';
import type { PlantName } from './plants.ts';
import { caughtUp, isIdle, settled, soon } from './settle.ts';
import { simplifyStep } from './simplify-step.ts';
import type { PostgresHistory, Step } from './step.ts';

const HISTORIES_DEFAULT = 50;
/** A history takes seconds. */
const SHRINK_RUNS_MAX = 60;
/** Not those to the source in which the connector keeps what it must know. */
const PUSHES = /^\/app\/v1\/(?!tidemark).*push_(?:objects|partitions)/;
/** Ends a wait for a connector that hangs. */
const HOLD_MS_MAX = 120_000;

/** Random histories of a database that a connector copies to Tidemark, with real processes that are killed. */
export const postgresSimulation: Simulation<PostgresHistory> = {
  name: 'postgres',
  drawHistory,
  simplifyStep,
  shrinkRunsMax: SHRINK_RUNS_MAX,
  openRunners: async () => {
    const runner = new PostgresRunner();
    return [{ run: (history) => runner.run(history), close: () => runner.close() }];
  },
};

/** Histories one after the other, with one database server and one Tidemark server, which are started for the first. */
export class PostgresRunner implements Runner<PostgresHistory> {
  #servers: Promise<Servers> | null = null;

  /** `plant` is a bug of the connector. */
  async run(history: PostgresHistory, plant: PlantName | null = null): Promise<SimulationFailure | null> {
    this.#servers ??= Servers.open();
    return runHistory(await this.#servers, history, plant);
  }

  async close(): Promise<void> {
    const servers = await this.#servers;
    this.#servers = null;
    await servers?.close();
  }
}

async function runHistory(
  servers: Servers,
  history: PostgresHistory,
  plant: PlantName | null,
): Promise<SimulationFailure | null> {
  const run = await HistoryRun.open(servers, history, plant);
  try {
    return await failureOf(history, `npm run sim -- postgres --seed ${history.seed}`, async (progress) => {
      for (const step of history.steps) {
        progress.step++;
        await perform(run, step);
      }
      progress.step++;
      await end(run);
    });
  } finally {
    await run.close();
  }
}

async function perform(run: HistoryRun, step: Step): Promise<void> {
  switch (step.kind) {
    case 'transactions':
      return performTransactions(run, step);
    case 'catch_up':
      run.database.proxy.release();
      await caughtUp(run);
      return;
    case 'pull': {
      const device = await run.pull(step.device);
      await run.ledger.note();
      return checkExposure(run, device);
    }
    case 'restart':
      return run.restartConnector(step.isKilled ? 'SIGKILL' : 'SIGTERM');
    case 'remap':
      run.mapping = step.mapping;
      return run.restartConnector('SIGTERM');
    case 'alter':
      return run.alter(step.statement);
    case 'drop_slot':
      return run.dropSlot();
    case 'fail_over':
      return failOver(run, step.lags);
    default:
      return arm(run, step);
  }
}

/** Prepares what happens later. */
function arm(
  run: HistoryRun,
  step: Extract<Step, { readonly kind: 'kill' | 'cut_calls' | 'cut_pushes' | 'cut_stream' | 'hold_chunk' }>,
): void {
  const { door, database } = run;
  if (step.kind === 'cut_stream') database.proxy.cutAfter(step.bytes);
  else if (step.kind === 'hold_chunk') database.proxy.hold(step.at, step.chunks);
  else if (step.kind === 'cut_calls' || step.kind === 'cut_pushes') {
    const { after, count, isAnswered } = step;
    door.arm({ after, count, isAnswered, ...(step.kind === 'cut_pushes' ? { path: PUSHES } : {}) });
  } else {
    const { calls, isAnswered, process } = step;
    door.arm({ after: calls, count: 1, isAnswered, act: () => run.kill(process) });
  }
}

async function performTransactions(
  run: HistoryRun,
  { transactions, turns }: Extract<Step, { readonly kind: 'transactions' }>,
): Promise<void> {
  await untilHeld(run);
  const named = transactions.map((one) => ({
    ...one,
    statements: one.statements.map((statement) => run.named(statement)),
  }));
  await runTransactions(run.database, named, turns, () => run.ledger.note());
  run.database.proxy.release();
}

/** A chunk that is to be held is waited for, unless there is none to be read. */
async function untilHeld(run: HistoryRun): Promise<void> {
  const deadline = AbortSignal.timeout(HOLD_MS_MAX);
  while (run.database.proxy.willHold && !(await isIdle(run)) && !deadline.aborted) {
    await soon(run.connector.heard());
  }
}

/** What is lost was on devices before, and is not any more afterwards. */
async function failOver(run: HistoryRun, lags: boolean): Promise<void> {
  // Nothing else may happen to the server while it is copied.
  await run.calm();
  run.causesOfHeals++;
  const lose = async () => {
    await run.sql(`UPDATE orders SET note = 'lost', crew = '@east' WHERE id <= 3`);
    await run.sql('DELETE FROM wares WHERE id <= 3');
    await run.ledger.note();
    await caughtUp(run);
  };
  await run.database.failOver(lags ? lose : null);
}

async function end(run: HistoryRun): Promise<void> {
  await run.calm();
  await run.writeLast();
  await settled(run);
  await checkDevices(run);
  await checkNothingTwice(run);
  const { problems, heals } = run.connector;
  demand(problems.length === 0, 'PGSIM-7', () => `rows could not be stored: ${problems.slice(0, 3).join('; ')}`);
  demand(heals.length <= run.causesOfHeals, 'PGSIM-6', () => {
    return `everything was compared ${heals.length} times (${heals.join(', ')}), with cause ${run.causesOfHeals} times`;
  });
}

/** A connector that begins again, or compares everything, writes nothing where nothing differs. */
async function checkNothingTwice(run: HistoryRun): Promise<void> {
  const before = await headsOf(run);
  if (run.history.seed % 2 === 0) await run.restartConnector('SIGKILL');
  else await run.dropSlot();
  await settled(run);
  const after = await headsOf(run);
  const changed = [...before].filter(([name, head]) => after.get(name) !== head).map(([name]) => name);
  demand(changed.length === 0, 'PGSIM-5', () => `nothing differed, and ${changed.join(', ')} was written again`);
}

async function headsOf(run: HistoryRun): Promise<ReadonlyMap<string, number>> {
  const heads = new Map<string, number>();
  for (const { source, owner, whose } of partitionsOf(run)) {
    heads.set(`${source} of ${owner}`, (await run.tidemark.partition(run.own(source), whose))?.head ?? 0);
  }
  return heads;
}

export const postgresCommand: Command = {
  name: 'postgres',
  summary:
    'A real Postgres, connected: transactions, moves, kills of all processes, lost slots, standbys, cut connections.',
  options: simulationOptions(HISTORIES_DEFAULT),
  run: (options) => runSimulation(postgresSimulation, options, HISTORIES_DEFAULT),
};
