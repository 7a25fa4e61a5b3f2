import type { Platform } from '../ports/platform.ts';
import type { Replica } from '../state/replica.ts';
import { type CommandArguments, type CommandName, type CommandResult, runCommand } from './commands.ts';
import type { DeviceListeners } from './device-listeners.ts';
import type { Engine } from './engine.ts';
import type { DeviceStatus } from './status.ts';

/** What a device needs of what runs it: an engine in this tab, or a tab that may lead or follow. */
export interface DeviceHost extends DeviceListeners {
  readonly replica: Replica;
  readonly platform: Platform;
  readonly status: DeviceStatus;
  /** The op_ids of the uploads that are being sent. */
  readonly inFlight: ReadonlySet<string>;
  sourceNames(): readonly string[];
  /** Called when changes of the app are stored. */
  onWritten(): void;
  run<C extends CommandName>(name: C, ...args: CommandArguments<C>): Promise<CommandResult<C>>;
  close(): Promise<void>;
}

/** A device that this tab or process has for itself. */
export class EngineHost implements DeviceHost {
  readonly replica: Replica;
  readonly platform: Platform;
  readonly statusListeners: DeviceListeners['statusListeners'];
  readonly queueListeners: DeviceListeners['queueListeners'];
  readonly problemListeners: DeviceListeners['problemListeners'];
  readonly eventListeners: DeviceListeners['eventListeners'];
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.replica = engine.replica;
    this.platform = engine.platform;
    this.statusListeners = engine.statusListeners;
    this.queueListeners = engine.queueListeners;
    this.problemListeners = engine.problemListeners;
    this.eventListeners = engine.eventListeners;
  }

  get status(): DeviceStatus {
    return this.#engine.status;
  }

  get inFlight(): ReadonlySet<string> {
    return this.#engine.inFlight;
  }

  sourceNames(): readonly string[] {
    return this.#engine.sourceNames();
  }

  onWritten(): void {
    this.#engine.dispatch({ type: 'push_wanted' });
  }

  run<C extends CommandName>(name: C, ...args: CommandArguments<C>): Promise<CommandResult<C>> {
    return runCommand(this.#engine, name, args);
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}
