import { asClientError, type ClientError, clientError } from '../client-error.ts';
import { type CommandArguments, type CommandName, type CommandResult, runCommand } from '../engine/commands.ts';
import type { DeviceHost } from '../engine/device-host.ts';
import { type DeviceEvents, type DeviceListeners, newDeviceListeners } from '../engine/device-listeners.ts';
import { Engine, loadState } from '../engine/engine.ts';
import type { EngineOptions } from '../engine/engine-options.ts';
import { nextTask } from '../engine/next-task.ts';
import { selectedSources } from '../engine/selected-sources.ts';
import { type User, writerCheck, writerOf } from '../engine/sessions.ts';
import { type DeviceStatus, sameStatus } from '../engine/status.ts';
import { TAB_PING_MS, TAB_PINGS_UNANSWERED_MAX } from '../limits.ts';
import type { LocalWrite, Table } from '../ports/local-store.ts';
import type { Platform, TabChannel, TabFeatures } from '../ports/platform.ts';
import { inSteps } from '../state/in-steps.ts';
import type { EarlyState } from '../state/load-early.ts';
import type { LocalState } from '../state/local-state.ts';
import { type NewUpload, Replica } from '../state/replica.ts';
import { StateDifference } from '../state/state-difference.ts';
import { randomId } from '../uploads/random-id.ts';
import { Follower } from './follower.ts';
import { receivedError, type SharedStatus, type SnapshotMessage, sentError, type TabMessage } from './tab-messages.ts';

interface WaitingCommand {
  readonly message: Extract<TabMessage, { readonly type: 'run' }>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const EVENT_NAMES: readonly (keyof DeviceEvents)[] = ['problem', 'linked', 'healed', 'ping'];

/**
 * A device that the tabs of one origin share. One tab leads: it holds a lock, uses the store and the network, and sends every
 * commit to the others. The others hold the same state in memory; their changes and commands go to the tab that leads. When
 * that tab is closed or crashes, the lock passes on; when it does not answer, another tab takes the lock from it, and the fence of the
 * store refuses its commits from then on.
 */
export class TabHost implements DeviceHost {
  readonly replica: Replica;
  readonly platform: Platform;
  readonly #options: EngineOptions;
  readonly #name: string;
  readonly #tabs: TabFeatures;
  readonly #listeners: DeviceListeners = newDeviceListeners();
  readonly #tabId: string;
  readonly #channel: TabChannel;
  readonly #ownChannel: TabChannel;
  readonly #follower: Follower;
  readonly #commands = new Map<number, WaitingCommand>();
  #commandNext = 0;
  #answerNext = 0;
  #engine: Engine | null = null;
  /** The time for which this tab leads, or is about to; null: it follows. */
  #leads: string | null = null;
  #seq = 0;
  #shared: SharedStatus | null = null;
  #followed: DeviceStatus | null = null;
  #isKeptOffline = false;
  /** True if the app has the device. */
  #isOpen = false;
  #isClosed = false;
  #unanswered = 0;
  #cancelPing: () => void = () => undefined;
  #releaseLock: () => void = () => undefined;
  #onReady: () => void = () => undefined;
  #onFailed: (error: unknown) => void = () => undefined;

  /** Resolves when this tab leads, or has the state of the tab that leads. */
  static async open(options: EngineOptions, name: string, tabs: TabFeatures): Promise<TabHost> {
    const host = new TabHost(options, name, tabs);
    await new Promise<void>((resolve, reject) => {
      host.#onReady = resolve;
      host.#onFailed = reject;
      host.#requestLock(false);
      host.#post({ type: 'hello', from: host.#tabId });
      host.#armPing();
      // Also in a tab that follows: when it takes over, a new version of the app may have replaced the file.
      if (options.platform.network?.isOnline() ?? true) options.loadNetwork(options.platform).catch(() => undefined);
    }).catch(async (error: unknown) => {
      await host.close();
      throw error;
    });
    host.#isOpen = true;
    return host;
  }

  private constructor(options: EngineOptions, name: string, tabs: TabFeatures) {
    this.platform = options.platform;
    this.#options = options;
    this.#name = `tidemark:${name}`;
    this.#tabs = tabs;
    this.#tabId = randomId(options.platform);
    // Without a lock to wait for, one unanswered question is enough to begin.
    if (tabs.requestLock === null) this.#unanswered = TAB_PINGS_UNANSWERED_MAX;
    this.replica = Replica.following((tables) => this.#onChanged(tables));
    this.replica.follow((uploads) => this.#sendUploads(uploads));
    this.#follower = new Follower({
      replica: this.replica,
      pause: () => nextTask(this.platform),
      isOpen: () => this.#isOpen,
      onStatus: (shared) => this.#takeStatus(shared),
      onReady: () => this.#takeReady(),
      askForState: () => this.#post({ type: 'hello', from: this.#tabId }),
    });
    this.#channel = tabs.openChannel(this.#name, (message) => this.#take(message as TabMessage));
    this.#ownChannel = tabs.openChannel(this.#ownName(this.#tabId), (message) => {
      if (this.#leads === null)
        this.#takeAnswer(() => void this.#follower.takeSnapshotPart(message as SnapshotMessage));
    });
    for (const name of EVENT_NAMES) this.#forward(name);
    this.#listeners.statusListeners.add(() => this.#shareStatus());
    this.#listeners.queueListeners.add(() => this.#shareStatus());
  }

  get statusListeners(): DeviceListeners['statusListeners'] {
    return this.#listeners.statusListeners;
  }

  get queueListeners(): DeviceListeners['queueListeners'] {
    return this.#listeners.queueListeners;
  }

  get problemListeners(): DeviceListeners['problemListeners'] {
    return this.#listeners.problemListeners;
  }

  get eventListeners(): DeviceListeners['eventListeners'] {
    return this.#listeners.eventListeners;
  }

  get status(): DeviceStatus {
    const status = this.#engine?.status ?? this.#followed;
    if (status === null) throw new Error('a tab has no status before it is open');
    return status;
  }

  get inFlight(): ReadonlySet<string> {
    return this.#engine?.inFlight ?? new Set(this.#shared?.inFlight);
  }

  sourceNames(): readonly string[] {
    return selectedSources(this.replica.reader, this.#options.sources);
  }

  onWritten(): void {
    // A tab that leads for this one has been told by the write itself.
    this.#engine?.dispatch({ type: 'push_wanted' });
  }

  run<C extends CommandName>(name: C, ...args: CommandArguments<C>): Promise<CommandResult<C>> {
    if (this.#isClosed) return Promise.reject(clientError('closed', 'the device is closed'));
    if (this.#engine !== null) return this.#runHere(this.#engine, name, args);
    return new Promise((resolve, reject) => {
      const message = { type: 'run', from: this.#tabId, id: this.#commandNext++, name, args } as const;
      this.#commands.set(message.id, { message, resolve: resolve as (value: unknown) => void, reject });
      this.#post(message);
    });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#engine?.stop({ isAcknowledging: true });
    await this.replica.close();
    this.#cancelPing();
    this.#releaseLock();
    this.#channel.close();
    this.#ownChannel.close();
    await this.#options.store.close();
    const closed = clientError('closed', 'the device is closed');
    for (const { reject } of this.#commands.values()) reject(closed);
    if (this.#followed !== null) this.#followed = Object.freeze({ ...this.#followed, mode: 'stopped' });
  }

  // Leading

  #requestLock(isStolen: boolean): void {
    this.#releaseLock();
    // Without Web Locks a tab that hears of no other one leads; the fence of the store settles who does if two begin at once.
    if (this.#tabs.requestLock === null) {
      if (isStolen) void this.#lead();
      return;
    }
    const hooks = { onHeld: () => void this.#lead(), onLost: () => this.#stepDown() };
    this.#releaseLock = this.#tabs.requestLock(this.#name, hooks, isStolen);
  }

  async #lead(): Promise<void> {
    if (this.#leads !== null || this.#isClosed) return;
    const term = randomId(this.platform);
    this.#leads = term;
    this.#cancelPing();
    this.#follower.stop();
    try {
      // A tab that shows something already goes on with it until everything is loaded.
      const loadEarly = this.#followed === null ? this.#options.loadEarly : null;
      const loaded = await loadState({ ...this.#options, loadEarly });
      const isWanted = () => this.#leads === term && !this.#isClosed;
      const content = this.replica.isEmpty ? loaded.state : await this.#differenceTo(loaded.state, isWanted);
      if (!isWanted()) return;
      this.#takeStore(term, content);
      if (!this.#isOpen) await this.replica.makeViews(() => nextTask(this.platform));
      if (isWanted()) this.#beginToLead(term, loaded.fill);
    } catch (error) {
      // Another tab leads by now, or this one does so again.
      if (this.#leads !== term) return;
      this.#leads = null;
      this.#onFailed(error);
      this.#failToLead(asClientError(error, 'store_failed'));
      this.#armPing();
    }
  }

  /** Nobody leads now. Another tab may be able to; until then nothing can be stored. */
  #failToLead(error: ClientError): void {
    this.#releaseLock();
    this.replica.refuseUnsaved(error);
    for (const { reject } of this.#takeCommands()) reject(error);
    if (this.#shared === null) return;
    const { code, detail, status } = error;
    const failed = { isLive: false, isSyncing: false, error: { code, detail, status, atMs: this.platform.nowMs() } };
    this.#takeStatus({ ...this.#shared, status: { ...this.#shared.status, ...failed } });
  }

  /** The writes that make the state of this tab equal to what the store holds. */
  async #differenceTo(stored: LocalState, isWanted: () => boolean): Promise<readonly LocalWrite[]> {
    const difference = new StateDifference(this.replica.reader);
    const pause = () => nextTask(this.platform);
    const { count, slice } = stored.snapshot();
    await inSteps(count, pause, (from, to) => difference.take(slice(from, to)), isWanted);
    return difference.finish(pause, isWanted);
  }

  #takeStore(term: string, content: LocalState | readonly LocalWrite[]): void {
    this.#seq = 0;
    this.replica.lead(this.#options.store, content, {
      onCommitted: (writes, saved) => this.#post({ type: 'committed', term, seq: ++this.#seq, writes, saved }),
      onLost: () => this.#stepDown(),
    });
  }

  #beginToLead(term: string, fill: EarlyState['fill']): void {
    fill(this.replica);
    const engine = new Engine({ ...this.#options, tab: 'leader' }, this.replica, this.#listeners);
    this.#engine = engine;
    engine.keepOffline(this.#isKeptOffline);
    this.#post({ type: 'leading', term });
    for (const { message, resolve, reject } of this.#takeCommands()) {
      this.#runHere(engine, message.name, message.args as never).then(resolve, reject);
    }
    this.#listeners.statusListeners.notify();
    this.#onReady();
  }

  /** Another tab leads by now. What was not stored is sent there. */
  #stepDown(): void {
    if (this.#leads === null || this.#isClosed) return;
    const status = this.#engine?.status ?? this.#followed;
    this.#leads = null;
    void this.#engine?.stop();
    this.#engine = null;
    this.#followed = status && Object.freeze({ ...status, tab: 'follower' });
    this.replica.follow((uploads) => this.#sendUploads(uploads));
    this.#post({ type: 'hello', from: this.#tabId });
    this.#requestLock(false);
    this.#armPing();
    this.#listeners.statusListeners.notify();
  }

  #runHere<C extends CommandName>(engine: Engine, name: C, args: CommandArguments<C>): Promise<CommandResult<C>> {
    if (name === 'keepOffline') this.#isKeptOffline = args[0] === true;
    return runCommand(engine, name, args);
  }

  #takeWrite(engine: Engine, uploads: readonly NewUpload[], writer: User): void {
    const opIds = uploads.map(([opId]) => opId);
    const known = this.replica.hasUpload(opIds.at(-1) ?? '');
    if (known === 'stored') this.#post({ type: 'saved', opIds });
    if (known !== null) return;
    const numbered = uploads.map(([opId, row]): NewUpload => [opId, { ...row, order: this.replica.takeOrder() }]);
    this.replica.write(numbered, writerCheck(writer)).then(
      () => engine.dispatch({ type: 'push_wanted' }),
      (error: unknown) => this.#post({ type: 'refused', opIds, error: sentError(error) }),
    );
  }

  async #answer(engine: Engine, { from, id, name, args }: WaitingCommand['message']): Promise<void> {
    try {
      const value = await this.#runHere(engine, name, args as never);
      this.#post({ type: 'result', to: from, id, value });
    } catch (error) {
      if (this.#leads !== null) this.#post({ type: 'result', to: from, id, error: sentError(error) });
    }
  }

  /** Sends the whole state to one tab, in parts, so that no part takes long. */
  async #sendState(term: string, to: string): Promise<void> {
    // If loading fails, the status says so, and the tab that asked asks again.
    await this.replica.loaded;
    const { count: rowCount, slice } = this.replica.reader.snapshot();
    const answer = { term, number: this.#answerNext++ };
    const seq = this.#seq;
    const isLeading = () => this.#leads === term;
    const channel = this.#tabs.openChannel(this.#ownName(to), () => undefined);
    const post = (message: SnapshotMessage) => channel.post(message);
    const postRows = (from: number, end: number) => post({ type: 'rows', ...answer, rows: slice(from, end) });
    try {
      await inSteps(rowCount, () => nextTask(this.platform), postRows, isLeading);
      if (isLeading()) post({ type: 'snapshot', ...answer, seq, rowCount, ...this.#sharedStatus() });
    } finally {
      // A channel that is closed at once would lose what was posted last in some browsers.
      this.platform.after(TAB_PING_MS, () => channel.close());
    }
  }

  #sharedStatus(): SharedStatus {
    return { status: this.status, inFlight: [...this.inFlight], isKeptOffline: this.#isKeptOffline };
  }

  #shareStatus(): void {
    if (this.#engine !== null && this.#leads !== null) {
      this.#post({ type: 'status', term: this.#leads, ...this.#sharedStatus() });
    }
  }

  #forward<E extends keyof DeviceEvents>(name: E): void {
    this.#listeners.eventListeners[name].add((data) => {
      if (this.#leads !== null) this.#post({ type: 'event', term: this.#leads, name, data });
    });
  }

  // Following

  #sendUploads(uploads: readonly NewUpload[]): void {
    try {
      this.#post({ type: 'write', uploads, writer: writerOf(this.replica.reader) });
    } catch (error) {
      const opIds = uploads.map(([opId]) => opId);
      queueMicrotask(() => this.replica.refuseUploads(opIds, error));
    }
  }

  #takeReady(): void {
    this.replica.sendAgain();
    for (const { message } of this.#commands.values()) this.#post(message);
    this.#onReady();
  }

  #takeCommands(): readonly WaitingCommand[] {
    const waiting = [...this.#commands.values()];
    this.#commands.clear();
    return waiting;
  }

  #takeStatus(shared: SharedStatus): void {
    this.#shared = shared;
    this.#isKeptOffline = shared.isKeptOffline;
    this.#listeners.queueListeners.notify();
    this.#refreshFollowed();
  }

  #refreshFollowed(): void {
    if (this.#shared === null || this.#engine !== null) return;
    const followed: DeviceStatus = Object.freeze({
      ...this.#shared.status,
      tab: 'follower',
      pendingUploads: this.replica.uploadsOpen,
      problems: this.replica.count('problems'),
      isLoading: this.replica.loaded !== null,
    });
    if (this.#followed !== null && sameStatus(followed, this.#followed)) return;
    this.#followed = followed;
    this.#listeners.statusListeners.notify();
  }

  #onChanged(tables: ReadonlySet<Table>): void {
    if (this.#engine !== null) {
      this.#engine.onChanged(tables);
      return;
    }
    if (tables.has('uploads')) this.#listeners.queueListeners.notify();
    if (tables.has('problems')) this.#listeners.problemListeners.notify();
    this.#refreshFollowed();
  }

  /** Pings are counted and not timed, because timers of hidden tabs are slow and those of frozen tabs stand still. */
  #armPing(): void {
    this.#cancelPing();
    this.#cancelPing = this.platform.after(TAB_PING_MS, () => {
      if (this.#leads !== null || this.#isClosed) return;
      if (this.#unanswered >= TAB_PINGS_UNANSWERED_MAX) {
        this.#unanswered = 0;
        this.#requestLock(true);
      } else {
        this.#unanswered++;
        this.#post({ type: 'ping' });
      }
      this.#armPing();
    });
  }

  #takeAnswer(work: () => void): void {
    this.#unanswered = 0;
    work();
  }

  // Messages

  #post(message: TabMessage): void {
    if (!this.#isClosed || message.type === 'write') this.#channel.post(message);
  }

  #ownName(tabId: string): string {
    return `${this.#name}:${tabId}`;
  }

  #take(message: TabMessage): void {
    if (this.#isClosed && this.#leads !== null) return;
    if (this.#leads === null) this.#takeAsFollower(message);
    else if (message.type === 'ping') this.#post({ type: 'pong', term: this.#leads });
    else if (this.#engine !== null) this.#takeAsLeader(this.#engine, this.#leads, message);
  }

  #takeAsLeader(engine: Engine, term: string, message: TabMessage): void {
    if (message.type === 'hello') void this.#sendState(term, message.from);
    else if (message.type === 'write') this.#takeWrite(engine, message.uploads, message.writer);
    else if (message.type === 'run') void this.#answer(engine, message);
  }

  #takeAsFollower(message: TabMessage): void {
    if (message.type === 'leading') this.#takeAnswer(() => this.#follower.begin(message.term));
    else if (message.type === 'pong') this.#takePong(message.term);
    else if (message.type === 'committed') this.#takeAnswer(() => this.#follower.takeCommitted(message));
    else if (message.type === 'saved') this.replica.confirmUploads(message.opIds);
    else if (message.type === 'refused') this.replica.refuseUploads(message.opIds, receivedError(message.error));
    else if (message.type === 'result' && message.to === this.#tabId) this.#takeResult(message);
    else if ('term' in message && message.term === this.#follower.term) this.#takeNews(message);
  }

  /** A tab that missed the beginning of a term hears of it by the answer to its ping. */
  #takePong(term: string): void {
    this.#unanswered = 0;
    if (this.#follower.term !== term) this.#post({ type: 'hello', from: this.#tabId });
  }

  #takeNews(message: TabMessage): void {
    if (message.type === 'status') this.#follower.takeStatus(message);
    else if (message.type === 'event') this.#listeners.eventListeners[message.name].notify(message.data as never);
  }

  #takeResult({ id, value, error }: Extract<TabMessage, { readonly type: 'result' }>): void {
    const waiting = this.#commands.get(id);
    this.#commands.delete(id);
    if (error === undefined) waiting?.resolve(value);
    else waiting?.reject(receivedError(error));
  }
}
