import type { Table } from '../ports/local-store.ts';
import type { EarlyState } from '../replica/load-early.ts';
import { LocalState } from '../state/local-state.ts';
import { type CommandArguments, type CommandName, type CommandResult, runCommand } from './commands.ts';
import { DeviceHost, type Role } from './device-host.ts';
import { Engine } from './engine.ts';
import type { EngineOptions } from './engine-options.ts';
import type { FilesUnderWay } from './file-work.ts';
import { nextTask } from './next-task.ts';
import type { DeviceStatus } from './status.ts';

/** The role of a device that this tab or process has for itself: it uses the store and the network. */
export class Alone implements Role {
  readonly engine: Engine;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Opens a device in this role. */
  static async open(options: EngineOptions): Promise<DeviceHost> {
    const host = new DeviceHost(options);
    const { state, fill } = await loadState(options);
    host.replica.open(state);
    host.writes.keepBy(options.store);
    const pause = () => nextTask(options.platform);
    await options.disk?.open(host.replica, pause);
    await host.replica.views.make(pause);
    fill(host.replica);
    host.become(new Alone(new Engine(options, host, null)));
    return host;
  }

  get status(): DeviceStatus {
    return this.engine.status;
  }

  get inFlight(): ReadonlySet<string> {
    return this.engine.inFlight;
  }

  get filesUnderWay(): FilesUnderWay {
    return this.engine.files.underWay;
  }

  run<C extends CommandName>(name: C, args: CommandArguments<C>): Promise<CommandResult<C>> {
    return runCommand(this.engine, name, args);
  }

  onWritten(): void {
    this.engine.dispatch({ type: 'push_wanted' });
  }

  onChanged(tables: ReadonlySet<Table>): void {
    this.engine.onChanged(tables);
  }

  stop(): Promise<void> {
    return this.engine.stop({ isAcknowledging: true });
  }
}

/** Loads the state of the store in steps, so that the thread is free between them. */
export async function loadState({ store, disk, loadEarly, platform }: EngineOptions): Promise<EarlyState> {
  const pause = () => nextTask(platform);
  const stored = disk ?? store;
  if (loadEarly !== null) return loadEarly(stored, pause);
  return { state: await LocalState.load(await stored.load(), pause), fill: () => undefined };
}
