import { drawHistory as drawFileHistory } from '../files/draw-history.ts';
import { PLANTED_BUGS as FILE_BUGS } from '../files/planted-bugs.ts';
import { runHistory as runFileHistory } from '../files/simulate.ts';
import type { FilesHistory } from '../files/step.ts';
import { drawHistory as drawGroupHistory } from '../groups/draw-history.ts';
import { PLANTED_BUGS as GROUP_BUGS } from '../groups/planted-bugs.ts';
import { memoryRunner } from '../groups/simulate.ts';
import { drawHistory as drawSyncHistory } from '../histories/draw-history.ts';
import { memoryServer } from '../histories/engines.ts';
import { PLANTED_BUGS as SYNC_BUGS } from '../histories/planted-bugs.ts';
import { runHistory as runSyncHistory } from '../histories/simulate.ts';
import type { SyncHistory } from '../histories/step.ts';
import { drawHistory as drawPostgresHistory } from '../postgres/draw-history.ts';
import { PLANTED_BUGS as POSTGRES_BUGS } from '../postgres/plants.ts';
import { PostgresRunner } from '../postgres/simulate.ts';
import type { PostgresHistory } from '../postgres/step.ts';
import { type BugSearch, findPlantedBug, type History, type SimulationFailure } from '../runner/simulation.ts';
import type { Rule } from '../runner/violation.ts';
import { drawHistory as drawSdkHistory } from '../sdk/draw-history.ts';
import { PLANTED_BUGS as SDK_BUGS } from '../sdk/planted-bugs.ts';
import { runHistory as runSdkHistory } from '../sdk/simulate.ts';
import type { SdkHistory } from '../sdk/step.ts';
import { drawHistory as drawUploadHistory } from '../uploads/draw-history.ts';
import { PLANTED_BUGS as UPLOAD_BUGS } from '../uploads/planted-bugs.ts';
import { runHistory as runUploadHistory } from '../uploads/simulate.ts';
import type { UploadsHistory } from '../uploads/step.ts';

export const SEARCHED_SIMULATIONS = ['histories', 'groups', 'sdk', 'uploads', 'files', 'postgres'] as const;
export type SearchedSimulation = (typeof SEARCHED_SIMULATIONS)[number];

/** The search of a simulation for one planted bug. */
export interface PlantedSearch {
  readonly simulation: SearchedSimulation;
  readonly name: string;
  /** The rule that the bug must break. */
  readonly breaks: Rule;
  /** How many histories may be tried. Most bugs show within ten, the rarest need several hundred. */
  readonly historiesMax: number;
  /** Runs the history of a seed. Returns the failure if it shows the bug: it passes without it; null: it does not. */
  readonly show: (seed: number) => Promise<SimulationFailure | null>;
  /** Runs the history of a seed with the bug alone. Returns its failure; null: it passes. */
  readonly runWithBug: (seed: number) => Promise<SimulationFailure | null>;
}

interface NamedBug {
  readonly name: string;
  readonly breaks: Rule;
}

type Runs<H extends History> = Omit<BugSearch<H>, 'seeds' | 'breaks'>;

function searchesFor<Bug extends NamedBug, H extends History>(
  { simulation, historiesMax }: Pick<PlantedSearch, 'simulation' | 'historiesMax'>,
  bugs: readonly Bug[],
  runsOf: (bug: Bug) => Runs<H>,
): readonly PlantedSearch[] {
  return bugs.map((bug) => {
    const { name, breaks } = bug;
    const show = (seed: number) => findPlantedBug({ ...runsOf(bug), breaks, seeds: [seed] });
    const runWithBug = (seed: number) => {
      const { drawHistory, withBug } = runsOf(bug);
      return withBug(drawHistory(seed));
    };
    return { simulation, historiesMax, name, breaks, show, runWithBug };
  });
}

/** The servers that all searches of connectors use, one after the other. */
const postgres = new PostgresRunner();
/** In steps; longer histories take long, and are only searched by campaigns. */
const POSTGRES_STEPS_MAX = 6;
/** What is undone shows nothing. */
const UNDONE = /SAVEPOINT|"isRolledBack":true/;

/** Draws the histories that are short and have what shows the bug; of the others nothing is run. */
function searchPostgres({ name, breaks, shownBy }: (typeof POSTGRES_BUGS)[number]): PlantedSearch {
  const show = async (seed: number) => {
    const { steps } = drawPostgresHistory(seed);
    const text = JSON.stringify(steps);
    if (steps.length > POSTGRES_STEPS_MAX || UNDONE.test(text) || !shownBy.test(text)) return null;
    return findPlantedBug({
      ...{ breaks, seeds: [seed], drawHistory: drawPostgresHistory },
      withBug: (history: PostgresHistory) => postgres.run(history, name),
      withoutBug: (history: PostgresHistory) => postgres.run(history),
    });
  };
  const runWithBug = (seed: number) => postgres.run(drawPostgresHistory(seed), name);
  return { simulation: 'postgres', historiesMax: 2_000, name, breaks, show, runWithBug };
}

/** Ends the processes that searches have started. */
export async function closeSearches(): Promise<void> {
  await postgres.close();
}

const SEARCHES: readonly PlantedSearch[] = [
  ...searchesFor({ simulation: 'histories', historiesMax: 1_500 }, SYNC_BUGS, ({ makeServer }) => ({
    drawHistory: drawSyncHistory,
    withBug: (history: SyncHistory) => runSyncHistory(history, makeServer),
    withoutBug: (history: SyncHistory) => runSyncHistory(history, memoryServer()),
  })),
  ...searchesFor({ simulation: 'groups', historiesMax: 600 }, GROUP_BUGS, (bug) => ({
    drawHistory: drawGroupHistory,
    withBug: memoryRunner(bug).run,
    withoutBug: memoryRunner().run,
  })),
  ...searchesFor({ simulation: 'sdk', historiesMax: 200 }, SDK_BUGS, ({ plant }) => ({
    drawHistory: drawSdkHistory,
    withBug: (history: SdkHistory) => runSdkHistory(history, plant()),
    withoutBug: (history: SdkHistory) => runSdkHistory(history),
  })),
  ...searchesFor({ simulation: 'uploads', historiesMax: 2_000 }, UPLOAD_BUGS, (bug) => ({
    drawHistory: drawUploadHistory,
    withBug: (history: UploadsHistory) => runUploadHistory(history, bug),
    withoutBug: (history: UploadsHistory) => runUploadHistory(history),
  })),
  ...searchesFor({ simulation: 'files', historiesMax: 1_000 }, FILE_BUGS, (bug) => ({
    drawHistory: drawFileHistory,
    withBug: (history: FilesHistory) => runFileHistory(history, bug),
    withoutBug: (history: FilesHistory) => runFileHistory(history),
  })),
  ...POSTGRES_BUGS.map(searchPostgres),
];

export function plantedSearches(simulation: SearchedSimulation): readonly PlantedSearch[] {
  return SEARCHES.filter((search) => search.simulation === simulation);
}
