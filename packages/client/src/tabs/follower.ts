import { type ClientError, clientError } from '../client-error.ts';
import type { CommandArguments, CommandName, CommandResult } from '../engine/commands.ts';
import type { DeviceHost, Role } from '../engine/device-host.ts';
import type { FilesUnderWay } from '../engine/file-work.ts';
import { nextTask } from '../engine/next-task.ts';
import { type DeviceStatus, sameStatus } from '../engine/status.ts';
import type { Table } from '../ports/local-store.ts';
import { inOtherTab, type Keeper } from '../replica/replica.ts';
import { writerOf } from '../state/owner.ts';
import type { NewUpload } from '../state/rows.ts';
import { StateReceiver } from './state-receiver.ts';
import type { TabLink } from './tab-link.ts';
import { receivedError, type SharedStatus, type SnapshotMessage, type TabMessage } from './tab-messages.ts';

const NO_FILES: FilesUnderWay = new Map();

interface WaitingCommand {
  readonly message: Extract<TabMessage, { readonly type: 'run' }>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface FollowerParts {
  readonly host: DeviceHost;
  readonly link: TabLink;
  /** True if the app has the device. */
  readonly isOpen: () => boolean;
  /** Called when the tab that leads has said anything. */
  readonly onHeard: () => void;
  /** Called when the whole state is there. */
  readonly onReady: () => void;
}

/**
 * The role of a tab that does not lead. It holds the state of the tab that does, in memory; changes of the app and commands go
 * there, and wait if there is none.
 */
export class Follower implements Role, Keeper {
  readonly #parts: FollowerParts;
  readonly #receiver: StateReceiver;
  readonly #commands = new Map<number, WaitingCommand>();
  #commandNext = 0;
  #shared: SharedStatus | null = null;
  #status: DeviceStatus | null = null;

  constructor(parts: FollowerParts) {
    const { host, link, isOpen } = parts;
    this.#parts = parts;
    this.#receiver = new StateReceiver({
      ...{ data: host, pause: () => nextTask(host.platform), isOpen },
      onStatus: (shared) => this.#takeStatus(shared),
      onReady: () => this.#goOn(),
      askForState: () => link.askForState(),
    });
  }

  get status(): DeviceStatus {
    if (this.#status === null) throw new Error('a tab has no status before it is open');
    return this.#status;
  }

  /** False: the tab has never shown anything. */
  get hasStatus(): boolean {
    return this.#status !== null;
  }

  get inFlight(): ReadonlySet<string> {
    return new Set(this.#shared?.inFlight);
  }

  get filesUnderWay(): FilesUnderWay {
    return this.#shared?.files ?? NO_FILES;
  }

  get isKeptOffline(): boolean {
    return this.#shared?.isKeptOffline ?? false;
  }

  run<C extends CommandName>(name: C, args: CommandArguments<C>): Promise<CommandResult<C>> {
    const { host, link } = this.#parts;
    if (host.isClosed) return Promise.reject(clientError('closed', 'the device is closed'));
    return new Promise((resolve, reject) => {
      const message = { type: 'run', from: link.tabId, id: this.#commandNext++, name, args } as const;
      this.#commands.set(message.id, { message, resolve: resolve as (value: unknown) => void, reject });
      link.post(message);
    });
  }

  onWritten(): void {
    // The tab that leads has been told by the write itself.
  }

  onChanged(tables: ReadonlySet<Table>): void {
    const { queue, problems, files } = this.#parts.host.listeners;
    if (tables.has('uploads')) queue.notify();
    if (tables.has('problems')) problems.notify();
    if (tables.has('facts')) files.notify();
    this.#refresh();
  }

  async stop(): Promise<void> {
    // Changes that are not stored still wait for the tab that leads.
  }

  // Keeping

  commit(): Promise<void> {
    return Promise.reject(inOtherTab());
  }

  send(uploads: readonly NewUpload[]): void {
    const { host, link } = this.#parts;
    try {
      link.post({ type: 'write', uploads, writer: writerOf(host.replica.reader) });
    } catch (error) {
      const opIds = uploads.map(([opId]) => opId);
      queueMicrotask(() => host.writes.refuse(error, opIds));
    }
  }

  // Changing roles

  /** Goes on after this tab has led. */
  resume(shared: SharedStatus): void {
    this.#shared = shared;
    this.#status = Object.freeze({ ...shared.status, tab: 'follower' });
  }

  /** This tab is about to lead: what the others say does not count any more. */
  pause(): void {
    this.#receiver.stop();
  }

  /** Returns the commands that wait, because this tab leads now. */
  takeCommands(): readonly WaitingCommand[] {
    const waiting = [...this.#commands.values()];
    this.#commands.clear();
    return waiting;
  }

  /** Nobody leads now. Another tab may be able to; until then nothing can be stored. */
  fail(error: ClientError): void {
    const { host } = this.#parts;
    host.writes.refuse(error);
    for (const { reject } of this.takeCommands()) reject(error);
    if (this.#shared === null) return;
    const { code, detail, status } = error;
    const failed = { isLive: false, isSyncing: false, error: { code, detail, status, atMs: host.platform.nowMs() } };
    this.#takeStatus({ ...this.#shared, status: { ...this.#shared.status, ...failed } });
  }

  /** The device is closed. */
  end(): void {
    const closed = clientError('closed', 'the device is closed');
    for (const { reject } of this.takeCommands()) reject(closed);
    if (this.#status !== null) this.#status = Object.freeze({ ...this.#status, mode: 'stopped' });
  }

  // Messages

  take(message: TabMessage): void {
    const { host, link, onHeard } = this.#parts;
    if (message.type === 'leading' || message.type === 'pong' || message.type === 'committed') onHeard();
    if (message.type === 'leading') this.#receiver.begin(message.term);
    else if (message.type === 'pong') this.#takePong(message.term);
    else if (message.type === 'committed') this.#receiver.takeCommitted(message);
    else if (message.type === 'saved') host.writes.confirm(message.opIds);
    else if (message.type === 'refused') host.writes.refuse(receivedError(message.error), message.opIds);
    else if (message.type === 'result' && message.to === link.tabId) this.#takeResult(message);
    else if ('term' in message && message.term === this.#receiver.term) this.#takeNews(message);
  }

  /** Takes a part of the state, which the tab that leads sends to this one alone. */
  takeOwn(message: SnapshotMessage): void {
    this.#parts.onHeard();
    void this.#receiver.takeSnapshotPart(message);
  }

  /** A tab that missed the beginning of a term hears of it by the answer to its ping. */
  #takePong(term: string): void {
    if (this.#receiver.term !== term) this.#parts.link.askForState();
  }

  #takeNews(message: TabMessage): void {
    const { events } = this.#parts.host.listeners;
    if (message.type === 'status') this.#receiver.takeStatus(message);
    else if (message.type === 'event') events[message.name].notify(message.data as never);
  }

  #takeResult({ id, value, error }: Extract<TabMessage, { readonly type: 'result' }>): void {
    const waiting = this.#commands.get(id);
    this.#commands.delete(id);
    if (error === undefined) waiting?.resolve(value);
    else waiting?.reject(receivedError(error));
  }

  /** The state is there: what waits is sent to the tab that it came from. */
  #goOn(): void {
    const { host, link, onReady } = this.#parts;
    host.writes.sendAgain();
    for (const { message } of this.#commands.values()) link.post(message);
    onReady();
  }

  #takeStatus(shared: SharedStatus): void {
    this.#shared = shared;
    const { queue, files } = this.#parts.host.listeners;
    queue.notify();
    files.notify();
    this.#refresh();
  }

  #refresh(): void {
    if (this.#shared === null) return;
    const { replica, listeners } = this.#parts.host;
    const status: DeviceStatus = Object.freeze({
      ...this.#shared.status,
      tab: 'follower',
      pendingUploads: replica.views.uploadsOpen,
      problems: replica.reader.count('problems', ''),
      isLoading: replica.loaded !== null,
    });
    if (this.#status !== null && sameStatus(status, this.#status)) return;
    this.#status = status;
    listeners.status.notify();
  }
}
