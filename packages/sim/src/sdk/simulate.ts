import { isDeepStrictEqual } from 'node:util';
import { type Device, openDevice } from '@tidemark/client';
import type { Command } from '../runner/command.ts';
import { failureOf, type Simulation, type SimulationFailure } from '../runner/simulation.ts';
import { runSimulation, simulationOptions } from '../runner/simulation-command.ts';
import { demand } from '../runner/violation.ts';
import { AppProcess, DeviceFiles } from './app-process.ts';
import { drawHistory } from './draw-history.ts';
import { HistoryRun } from './history-run.ts';
import { ownerText } from './ledger.ts';
import type { SdkPlant } from './planted-bugs.ts';
import type { SdkDevice } from './sdk-device.ts';
import type { Attributes } from './sdk-server.ts';
import { type SdkHistory, SOURCES, type SourceName, type Step } from './step.ts';

const HISTORIES_DEFAULT = 500;
/** Less than the time after which a device that listens pulls anyway. */
const LOOK_MS = 30_000;
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

async function perform(run: HistoryRun, step: Step): Promise<void> {
  switch (step.kind) {
    case 'put':
      return run.put(step);
    case 'remove':
      return run.remove(step);
    case 'move':
      return run.move(step);
    case 'join':
      return run.join(step.user, [step.group]);
    case 'leave':
      return run.leave(step.user, step.group);
    case 'join_many':
      return run.joinMany(step);
    case 'create':
      return run.create(step);
    case 'update':
      return run.update(step);
    case 'create_before_sync':
      return run.createBeforeSync(step);
    case 'follow':
      return run.follow(step);
    default:
      return performOnDevice(run, step);
  }
}

type DeviceStep = Exclude<
  Step,
  {
    kind:
      | 'put'
      | 'remove'
      | 'move'
      | 'join'
      | 'leave'
      | 'join_many'
      | 'create'
      | 'update'
      | 'create_before_sync'
      | 'follow';
  }
>;

async function performOnDevice(run: HistoryRun, step: DeviceStep): Promise<void> {
  switch (step.kind) {
    case 'sync':
      return run.device(step.device).sync(step.tab);
    case 'offline':
    case 'online':
      return run.device(step.device).setOffline(step.kind === 'offline');
    case 'open_tab':
    case 'close_tab':
    case 'kill_tab':
    case 'freeze_tab':
    case 'thaw_tab':
      return performOnTab(run, step);
    case 'restart':
      return run.restart(step);
    case 'sync_once':
      return syncOnce(run, step.user);
    case 'wipe':
      return run.wipe(step.device);
    case 'replace_user':
      return run.replaceUser(step.user);
    case 'look':
      return look(run);
    default:
      return performOnServer(run, step);
  }
}

async function performOnTab(
  run: HistoryRun,
  { kind, tab }: Extract<Step, { readonly kind: 'open_tab' | 'close_tab' | 'kill_tab' | 'freeze_tab' | 'thaw_tab' }>,
): Promise<void> {
  const device = run.device(0);
  if (kind === 'open_tab') return device.open(tab);
  if (kind === 'close_tab') return device.close(tab);
  if (kind === 'kill_tab') device.kill(tab);
  else if (kind === 'freeze_tab') device.freeze(tab);
  else device.thaw(tab);
}

async function performOnServer(
  { server }: HistoryRun,
  step: Extract<Step, { readonly kind: 'backend' | 'events' | 'run_jobs' | 'pass' }>,
): Promise<void> {
  if (step.kind === 'backend') server.isDown = step.isDown;
  else if (step.kind === 'events') server.sync.sendsPages = step.havePages;
  else if (step.kind === 'run_jobs') await server.runJobs();
  else await server.platform.advance(step.ms);
}

/** A device that listens and has nothing to do shows what the server has. */
async function look(run: HistoryRun): Promise<void> {
  await run.server.platform.advance(LOOK_MS);
  for (const sdk of run.devices) {
    for (const device of sdk.running) {
      const { mode, isLive, pendingUploads, userId } = device.status.getSnapshot();
      if (mode !== 'idle' || !isLive || pendingUploads > 0 || userId === null) continue;
      await checkShown(run, { sdk, device }, 'Order', 'SIM-19');
    }
  }
}

/** A program that ends after one sync has told the server what it holds. */
async function syncOnce(run: HistoryRun, user: string): Promise<void> {
  const { server } = run;
  const process = new AppProcess();
  const platform = process.platform(server.platform, null);
  const store = new DeviceFiles(null).open(process);
  const device = await openDevice({ url: 'http://once.test', store, platform, live: false });
  const credentials = { login: user, password: server.password(user) };
  await server.platform.finish(device.signIn(credentials).then(() => device.sync()));
  const { clientId } = device.status.getSnapshot();
  await server.platform.finish(device.close());
  process.kill();
  for (const owner of run.owners()) {
    const isMine = owner.group === null ? owner.user === user : run.groupsOf(user).includes(owner.group);
    if (!isMine) continue;
    for (const id of (await server.objects(owner)).keys()) {
      const { verdict } = await server.explain(clientId, owner, id);
      demand(CONFIRMED.has(verdict), 'SIM-21', () => `${id} of ${ownerText(owner)} is ${verdict} after one sync`);
    }
  }
}

/** Other devices may write after the sync. */
const CONFIRMED: ReadonlySet<string> = new Set(['current', 'behind', 'pending']);

/** Everything works again: all changes arrive, and all devices show what the server has. */
async function end(run: HistoryRun): Promise<void> {
  const { server } = run;
  server.isDown = false;
  for (let round = 0; round < ROUNDS_MAX; round++) {
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

/** A change is refused only if its user was not in the group at some time. */
function checkProblems(run: HistoryRun, index: number, sdk: SdkDevice): void {
  for (const { source, group = null, id, attributes, error } of sdk.running[0]?.problems.list() ?? []) {
    demand(run.mayRefuse(sdk.user, group), 'SIM-18', () => {
      return `a change of ${id} in ${source} of ${group} on ${sdk.host} is refused: ${error.detail}`;
    });
    run.ledger.excuse(index, source, id, attributes?.made);
  }
}

async function checkShown(
  run: HistoryRun,
  { sdk, device }: { readonly sdk: SdkDevice; readonly device: Device },
  source: SourceName,
  rule: 'SIM-18' | 'SIM-19',
): Promise<void> {
  const objects = await sdk.shown(device, source);
  const shown = Object.fromEntries(objects.map(({ id, attributes }) => [id, { ...attributes }]));
  const wanted: Record<string, Attributes> = {};
  const owners =
    source === 'Order'
      ? [{ source, group: null, user: sdk.user }]
      : run.shownGroups(sdk, source).map((group) => ({ source, group, user: null }));
  for (const owner of owners.toReversed()) Object.assign(wanted, Object.fromEntries(await run.server.objects(owner)));
  demand(
    isDeepStrictEqual(shown, wanted),
    rule,
    () => `${sdk.host} shows ${JSON.stringify(shown)} of ${source}, the server has ${JSON.stringify(wanted)}`,
  );
}

export const sdkCommand: Command = {
  name: 'sdk',
  summary: 'SDK devices in one process: groups, a backend that fails, tabs that change, wipes, users who are replaced.',
  options: simulationOptions(HISTORIES_DEFAULT),
  run: (options) => runSimulation(sdkSimulation, options, HISTORIES_DEFAULT),
};
