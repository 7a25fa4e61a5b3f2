import { checkAllDocuments, checkEverywhere, checkWritten } from './check-documents.ts';
import { converge } from './converge.ts';
import { performStep } from './perform-step.ts';
import { USERS } from './place.ts';
import type { History } from './step.ts';
import type { MakeSubject } from './subject.ts';
import { demand, type Rule, Violation } from './violation.ts';
import { World } from './world.ts';

const FIRST_DAY_MS = 1_700_000_000_000;
/** What a step takes, so that no two of them happen at one moment. */
const STEP_MS = 1_000;
/** What a step has done to partitions it had no business with is still there some steps later, and at the end. */
const CHECK_EVERYWHERE_EVERY_STEPS = 10;

/** A history the server did not survive: what to look for, where, and how to see it again. */
export class SimulationFailure extends Error {
  override readonly name = 'SimulationFailure';
  readonly seed: number;
  /** Counted from 1; one more than there are steps: the devices did not converge at the end. */
  readonly stepNumber: number;
  /** Null: not a broken rule but an error nobody expected. */
  readonly rule: Rule | null;

  constructor(history: History, stepNumber: number, engine: string, cause: unknown) {
    const what = history.steps[stepNumber - 1]?.kind ?? 'the end';
    const detail = cause instanceof Violation ? cause.message : cause instanceof Error ? cause.stack : String(cause);
    super(
      `seed ${history.seed}, step ${stepNumber} of ${history.steps.length} (${what}): ${detail}\n` +
        `  replay: ${replayCommand(history.seed, engine)}`,
      { cause },
    );
    this.seed = history.seed;
    this.stepNumber = stepNumber;
    this.rule = cause instanceof Violation ? cause.rule : null;
  }
}

export function replayCommand(seed: number, engine: string): string {
  return `npm run sim -- --seed ${seed} --engine ${engine}`;
}

/** Runs one history against a new subject; throws a `SimulationFailure` at the first thing that is wrong. */
export async function simulate(history: History, makeSubject: MakeSubject, engine: string): Promise<void> {
  const clock = { nowMs: FIRST_DAY_MS };
  let stepNumber = 0;
  const weather = () => history.steps[stepNumber - 1]?.weather ?? 0;
  const subject = await makeSubject({ seed: history.seed, nowMs: () => clock.nowMs, weather });
  try {
    const world = new World(subject, clock, history);
    for (const user of USERS) await world.createUser(user);
    for (const step of history.steps) {
      stepNumber++;
      clock.nowMs += STEP_MS;
      await performStep(world, step);
      await checkWritten(world);
      if (stepNumber % CHECK_EVERYWHERE_EVERY_STEPS === 0) await checkEverywhere(world);
    }
    stepNumber++;
    await finish(world, history);
  } catch (error) {
    throw new SimulationFailure(history, stepNumber, engine, error);
  }
}

async function finish(world: World, history: History): Promise<void> {
  for (const [index, station] of world.stations.entries()) {
    await converge(world, station, history.lastPages[index] ?? 1);
  }
  await checkAllDocuments(world);
  const findings = await world.subject.verify();
  demand(findings.length === 0, 'SIM-1', () => `the store finds fault with itself: ${findings.join(' ')}`);
}

/** The same, with the failure as a value; null: the history held. */
export async function findFailure(
  history: History,
  makeSubject: MakeSubject,
  engine: string,
): Promise<SimulationFailure | null> {
  try {
    await simulate(history, makeSubject, engine);
    return null;
  } catch (error) {
    if (error instanceof SimulationFailure) return error;
    throw error;
  }
}
