import { openDevice } from '@tidemark/client';
import { demand } from '../runner/violation.ts';
import { AppProcess, DeviceFiles } from './app-process.ts';
import { look } from './checks.ts';
import type { HistoryRun } from './history-run.ts';
import { ownerText } from './ledger.ts';
import type { SchemaVersions } from './schema-versions.ts';
import type { Step } from './step.ts';

export async function perform(run: HistoryRun, step: Step): Promise<void> {
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
    case 'clear':
      return run.clear(step);
    case 'convert':
      return convert(run, step);
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
      | 'follow'
      | 'clear'
      | 'convert';
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
    case 'update_app':
      return run.device(step.device).updateApp(step.tab, step.isKilled);
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
  step: Extract<Step, { readonly kind: 'backend' | 'events' | 'run_jobs' | 'pass' | 'version' }>,
): Promise<void> {
  if (step.kind === 'backend') server.isDown = step.isDown;
  else if (step.kind === 'events') server.sync.sendsPages = step.havePages;
  else if (step.kind === 'run_jobs') await server.runJobs();
  else if (step.kind === 'version') await setVersion(server.versions, step);
  else await server.platform.advance(step.ms);
}

async function setVersion(versions: SchemaVersions, step: Extract<Step, { readonly kind: 'version' }>): Promise<void> {
  const { source, during: moment, turns, converts } = step;
  if (moment === null) await versions.setNext(source);
  else versions.arm({ source, moment, turns, converts });
}

/** Objects change while others are converted. */
async function convert(
  run: HistoryRun,
  { stopsAfter, between }: Extract<Step, { readonly kind: 'convert' }>,
): Promise<void> {
  let partition = 0;
  await run.server.versions.convert(async () => {
    for (const { at, step } of between) if (at === partition) await perform(run, step);
    return partition++ !== stopsAfter;
  });
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
