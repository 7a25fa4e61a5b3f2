import type { Command } from '../runner/command.ts';
import { failureOf, type Simulation, type SimulationFailure } from '../runner/simulation.ts';
import { runSimulation, simulationOptions } from '../runner/simulation-command.ts';
import { demand } from '../runner/violation.ts';
import { drawHistory } from './draw-history.ts';
import { FileOracle } from './file-oracle.ts';
import { type FilePlant, FileServer } from './file-server.ts';
import { type Action, FILES, type FilesHistory, GRACE_MS, USERS } from './step.ts';

const STEP_MS = 1_000;
/** A reference goes after one grace period, and a file that nobody claims any more after another one. */
const ROUNDS_AT_END = 4;

export const fileSimulation: Simulation<FilesHistory> = {
  name: 'files',
  drawHistory,
  openRunners: async () => [{ run: (history) => runHistory(history), close: async () => undefined }],
};

/** Runs one history on a new server. Returns the first failure; null: the history passed. */
export function runHistory(history: FilesHistory, plant: FilePlant = {}): Promise<SimulationFailure | null> {
  const run = { server: new FileServer(history.seed, plant), oracle: new FileOracle() };
  return failureOf(history, `npm run sim -- files --seed ${history.seed}`, async (progress) => {
    await run.server.open();
    for (const step of history.steps) {
      progress.step++;
      run.server.clock.ms += STEP_MS;
      await run.server.during(step.delaySeed, () => perform(run, step));
      await check(run);
    }
    progress.step++;
    await checkEnd(run);
  });
}

interface Run {
  readonly server: FileServer;
  readonly oracle: FileOracle;
}

async function perform(run: Run, action: Action): Promise<void> {
  const { server, oracle } = run;
  if (action.kind === 'time_passes') {
    server.clock.ms += action.ms;
    return;
  }
  if (action.kind !== 'collect') return performSimple(run, action);
  const { meanwhile, killAt } = action;
  oracle.collecting(server.clock.ms);
  await Promise.all([server.collect(killAt), ...(meanwhile === null ? [] : [performSimple(run, meanwhile)])]);
  oracle.collecting(server.clock.ms);
}

async function performSimple(
  { server, oracle }: Run,
  action: Exclude<Action, { readonly kind: 'collect' | 'time_passes' }>,
): Promise<void> {
  const nowMs = server.clock.ms;
  switch (action.kind) {
    case 'push':
      await server.push(action);
      return oracle.write(action, null, nowMs);
    case 'write': {
      const { place } = action;
      if (place.kind === 'group' && !oracle.groupsOf(action.user).includes(place.group)) return;
      const status = await server.write(action.user, action, oracle.has(action));
      demand(status === 'applied', 'FILESIM-4', () => `a write of ${action.user} ended as ${status}`);
      return oracle.write(action, action.user, nowMs);
    }
    case 'send': {
      const end = await server.send(action.user, action.file, action.upTo);
      if (end === 'stored') oracle.stored(action.file, action.user, nowMs);
      else if (end === 'present') oracle.kept(action.file, action.user, nowMs);
      else oracle.unsure(action.file, nowMs);
      return;
    }
    case 'set_groups':
      await server.setGroups(action.user, action.groups);
      return oracle.setGroups(action.user, action.groups);
    case 'replace_user':
      await server.replaceUser(action.user);
      return oracle.replaceUser(action.user, nowMs);
    case 'drop_source':
      await server.dropTeam();
      return oracle.dropGroups(nowMs);
  }
}

async function check({ server, oracle }: Run): Promise<void> {
  for (const file of FILES) {
    const isStored = await server.isStored(file);
    const isLost = oracle.presence(file) === 'yes' && !isStored;
    demand(!isLost, 'FILESIM-1', () => `the file ${file} was acknowledged and is not here`);
    oracle.observe(file, isStored);
    for (const user of USERS) {
      const mayRead = await server.mayRead(user, file);
      const { sure, possible } = oracle.mayRead(user, file);
      demand(possible || !mayRead, 'FILESIM-3', () => `${user} reads the file ${file}, and has no right to`);
      demand(mayRead || !sure, 'FILESIM-4', () => `${user} does not read the file ${file}, and has the right to`);
    }
  }
}

/** Without anything else happening, the collector leaves what objects refer to, and nothing else. */
async function checkEnd(run: Run): Promise<void> {
  const { server, oracle } = run;
  for (let round = 0; round < ROUNDS_AT_END; round++) {
    oracle.collecting(server.clock.ms);
    await server.collect(null);
    await check(run);
    server.clock.ms += GRACE_MS;
  }
  const left = FILES.filter((file) => !oracle.isReferred(file));
  for (const file of left) {
    const isGone = !(await server.isStored(file)) && !server.hasBytes(file);
    demand(isGone, 'FILESIM-2', () => `nothing refers to the file ${file}, and it is still here`);
  }
  for (const user of USERS) {
    const counted = await server.bytesSent(user);
    const { least, most } = oracle.bytesSent(user);
    const isRight = least <= counted && counted <= most;
    demand(isRight, 'FILESIM-5', () => `${counted} bytes count for ${user}, who has sent ${least} to ${most}`);
  }
}

const HISTORIES_DEFAULT = 2_000;

export const filesCommand: Command = {
  name: 'files',
  summary:
    'Random histories of files: references, uploads that break off, groups, erased users, the collector and kills.',
  options: simulationOptions(HISTORIES_DEFAULT),
  run: (options) => runSimulation(fileSimulation, options, HISTORIES_DEFAULT),
};
