import type { LocalStore, Table } from '../ports/local-store.ts';
import type { CommandArguments, CommandName, CommandResult } from './commands.ts';
import { DeviceData } from './device-data.ts';
import type { EngineOptions } from './engine-options.ts';
import type { FilesUnderWay } from './file-work.ts';
import { selectedSources } from './selected-sources.ts';
import type { DeviceStatus } from './status.ts';

/** What a device is at the moment: alone with its store, the tab that leads the others, or one that follows it. */
export interface Role {
  readonly status: DeviceStatus;
  /** The op_ids of the uploads that are being sent. */
  readonly inFlight: ReadonlySet<string>;
  readonly filesUnderWay: FilesUnderWay;
  run<C extends CommandName>(name: C, args: CommandArguments<C>): Promise<CommandResult<C>>;
  /** Called when changes of the app are stored. */
  onWritten(): void;
  /** Called after every change of the replica. */
  onChanged(tables: ReadonlySet<Table>): void;
  /** Ends the work because the device closes. Changes that wait are still stored. */
  stop(): Promise<void>;
}

/** The data of a device, with the role that it has at the moment. */
export class DeviceHost extends DeviceData {
  readonly store: LocalStore;
  readonly #sources: readonly string[] | null;
  #role: Role | null = null;
  #isClosed = false;
  /** Called when the device is closed, and everything is stored. */
  onClosed: () => void = () => undefined;

  constructor({ platform, store, sources, versions }: EngineOptions) {
    super(platform, (tables) => this.#role?.onChanged(tables));
    this.replica.reader.versions = versions;
    this.store = store;
    this.#sources = sources;
  }

  get role(): Role {
    if (this.#role === null) throw new Error('a device has no role before it is open');
    return this.#role;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  become(role: Role): void {
    this.#role = role;
    this.listeners.status.notify();
  }

  sourceNames(): readonly string[] {
    return selectedSources(this.replica.reader, this.#sources);
  }

  run<C extends CommandName>(name: C, ...args: CommandArguments<C>): Promise<CommandResult<C>> {
    return this.role.run(name, args);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#role?.stop();
    await this.writes.close();
    this.onClosed();
    await this.store.close();
  }
}
