import { asClientError, type ClientError, clientError } from '../client-error.ts';
import { PAUSE_MS_MAX } from '../limits.ts';
import {
  type Effect,
  firstState,
  type MachineEvent,
  type MachineState,
  next,
  type Transition,
} from '../machine/machine.ts';
import type { Table } from '../ports/local-store.ts';
import type { Platform } from '../ports/platform.ts';
import { startOver } from '../pull/start-over.ts';
import type { EarlyState } from '../state/load-early.ts';
import { LocalState } from '../state/local-state.ts';
import { Replica } from '../state/replica.ts';
import { pauseMs } from '../transport/pause-ms.ts';
import { type DeviceListeners, newDeviceListeners } from './device-listeners.ts';
import type { EngineOptions } from './engine-options.ts';
import type { Network } from './network.ts';
import { nextTask } from './next-task.ts';
import { Listeners } from './observable.ts';
import { revocationsIn } from './revocations.ts';
import { selectedSources } from './selected-sources.ts';
import { Sessions } from './sessions.ts';
import { type DeviceStatus, sameStatus } from './status.ts';
import { type SyncGoal, SyncWaiters } from './sync-waiters.ts';
import type { WorkScope } from './work-scope.ts';

interface Work {
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

/** A push or pull. Resolves to true if another one must follow. */
type Round = (network: Network, scope: WorkScope) => Promise<boolean>;

const NONE: ReadonlySet<string> = new Set();

/**
 * Runs the effects of the state machine, one push or pull at a time, and reports their results to it as events. All
 * decisions are made by the machine.
 */
export class Engine {
  readonly replica: Replica;
  readonly platform: Platform;
  readonly sessions: Sessions;
  readonly statusListeners: DeviceListeners['statusListeners'];
  readonly queueListeners: DeviceListeners['queueListeners'];
  readonly problemListeners: DeviceListeners['problemListeners'];
  readonly eventListeners: DeviceListeners['eventListeners'];
  readonly #options: EngineOptions;
  readonly #listeners: DeviceListeners;
  readonly #waiters = new SyncWaiters();
  #state: MachineState;
  #status: DeviceStatus;
  /** Null: it is not loaded yet. Then nothing is known of the server, and everything is to be pulled. */
  #network: Network | null = null;
  #loading: Promise<Network> | null = null;
  #isListening = false;
  #work: Work | null = null;
  #cancelWait: () => void = () => undefined;
  #cancelRevoking: () => void = () => undefined;
  #retryAtMs: number | null = null;
  #error: DeviceStatus['error'] = null;
  /** The error then stays: a pull without changes succeeds without the store. */
  #isStoreLost = false;
  #isLive = false;
  #isKeptOffline = false;
  #isWiping = false;
  #syncedAtMs: number | null = null;
  #stopHints: () => void = () => undefined;

  static async open(options: EngineOptions): Promise<Engine> {
    const changed = new Listeners<[ReadonlySet<Table>]>();
    const { state, fill } = await loadState(options);
    const replica = new Replica(options.store, state, (tables) => changed.notify(tables));
    await replica.makeViews(() => nextTask(options.platform));
    fill(replica);
    const engine = new Engine(options, replica, newDeviceListeners());
    changed.add((tables) => engine.onChanged(tables));
    return engine;
  }

  constructor(options: EngineOptions, replica: Replica, listeners: DeviceListeners) {
    const { platform } = options;
    this.statusListeners = listeners.statusListeners;
    this.queueListeners = listeners.queueListeners;
    this.problemListeners = listeners.problemListeners;
    this.eventListeners = listeners.eventListeners;
    this.#options = options;
    this.#listeners = listeners;
    this.platform = platform;
    this.replica = replica;
    this.sessions = new Sessions(platform, replica);
    this.#syncedAtMs = this.#lastCompleteMs();
    const first = firstState(this.sessions.kind(), this.#mayUseNetwork());
    this.#state = first.state;
    this.#status = this.#computeStatus();
    this.#stopHints = platform.network?.onChange(() => this.#followNetwork()) ?? (() => undefined);
    this.#perform(first);
    void this.#revoke();
    // Early, so that the first sign-in does not wait for it. If it fails, the first use tries again.
    if (this.#mayUseNetwork()) this.network().catch(() => undefined);
    // Without a network nothing else would notice it.
    replica.loaded?.catch((error: unknown) => this.#fail(asClientError(error, 'store_failed')));
    options.store.onLost?.((error) => {
      this.#isStoreLost = true;
      this.#fail(error);
    });
  }

  get status(): DeviceStatus {
    return this.#status;
  }

  get mode(): MachineState['mode'] {
    return this.#state.mode;
  }

  /** The op_ids of the uploads that are being sent. */
  get inFlight(): ReadonlySet<string> {
    return this.#network?.pusher.inFlight ?? NONE;
  }

  sourceNames(): readonly string[] {
    return selectedSources(this.replica.reader, this.#options.sources);
  }

  /** Returns the part that talks to the server. Rejects if it cannot be loaded. */
  async network(): Promise<Network> {
    if (this.#network !== null) return this.#network;
    this.#loading ??= this.#loadNetwork().finally(() => {
      this.#loading = null;
    });
    return await this.#loading;
  }

  dispatch(event: MachineEvent): void {
    this.#perform(next(this.#state, event));
  }

  /**
   * Resolves when the uploads made before now are sent, and the device has the current state of the server and has told it
   * so, if that takes no time.
   */
  sync(signal: AbortSignal | undefined): Promise<void> {
    const refusal = this.#syncRefusal();
    if (refusal !== null) return Promise.reject(refusal);
    if (signal?.aborted) return Promise.reject(clientError('aborted', 'the caller stopped waiting for the sync'));
    const waiting = this.#waiters.wait(
      { tick: this.#network?.puller.wants.tick ?? 0, order: this.replica.orderNext },
      signal,
    );
    this.#network?.puller.wantEverything();
    this.#network?.listener.retryNow();
    this.dispatch({ type: 'sync_wanted' });
    return waiting.then(() => this.#network?.acknowledge());
  }

  /** The switch of the app, which counts in addition to the hint of the platform. */
  keepOffline(isKeptOffline: boolean): void {
    this.#isKeptOffline = isKeptOffline;
    this.#followNetwork();
  }

  /** Starts a session, which asks for everything again. */
  beginSession(): void {
    this.#network?.forget();
    this.#network?.puller.wantAll();
    this.#clearError();
    this.dispatch({ type: 'signed_in' });
    void this.#revoke();
  }

  /** Fetches everything again. Waiting uploads stay. */
  async startOver(): Promise<void> {
    await this.replica.transact((tx) => {
      for (const [source, row] of [...tx.entries('sources', '')]) {
        startOver(tx, { source }, row);
        for (const [group, own] of [...tx.entries('sources', source)]) startOver(tx, { source, group }, own);
      }
    });
    const { mode } = this.#state;
    if (mode !== 'signed_out' && mode !== 'needs_sign_in') this.beginSession();
  }

  async signOut(discardUploads: boolean): Promise<void> {
    await this.sessions.signOut(discardUploads);
    this.#leave();
    await this.#revoke();
  }

  /** Erases everything because the server has ordered it, then confirms. If the store fails, the next call is refused again. */
  async #wipe(): Promise<void> {
    const session = this.sessions.current();
    if (session === null || this.#isWiping) return;
    this.#isWiping = true;
    try {
      await this.sessions.erase(session);
      this.#leave();
      await this.#revoke();
    } catch (error) {
      this.#fail(asClientError(error, 'store_failed'));
    } finally {
      this.#isWiping = false;
    }
  }

  #leave(): void {
    this.dispatch({ type: 'signed_out' });
    this.#network?.forget();
    this.#clearError();
    this.#syncedAtMs = null;
    this.#refreshStatus();
  }

  /** Revokes ended sessions at the server, if there are any and there is a network. */
  async #revoke(): Promise<void> {
    this.#cancelRevoking();
    if (revocationsIn(this.replica.reader).length === 0 || !this.#mayUseNetwork()) return;
    try {
      const { revoker } = await this.network();
      await revoker.flush();
    } catch {
      if (this.mode !== 'stopped') this.#cancelRevoking = this.platform.after(PAUSE_MS_MAX, () => void this.#revoke());
    }
  }

  async close(): Promise<void> {
    await this.stop({ isAcknowledging: true });
    await this.replica.close();
  }

  /**
   * Stops all work. Resolves when the work under way has ended. If `isAcknowledging`, the server is told what the device
   * holds, if that takes no time.
   */
  async stop({ isAcknowledging = false } = {}): Promise<void> {
    this.#stopHints();
    this.#cancelRevoking();
    const stopped = this.#network?.stop(isAcknowledging);
    // Work that still waits for the network part has not begun.
    const done = this.#network === null ? null : this.#work?.done;
    this.dispatch({ type: 'closed' });
    await done;
    await stopped;
  }

  async #loadNetwork(): Promise<Network> {
    const { Network } = await this.#options.loadNetwork(this.platform);
    if (this.mode === 'stopped') throw clientError('closed', 'the device is closed');
    const network = new Network({
      options: this.#options,
      replica: this.replica,
      sessions: this.sessions,
      listeners: this.#listeners,
      dispatch: (event) => this.dispatch(event),
      mayUseNetwork: () => this.#mayUseNetwork(),
      shouldYield: () => this.#state.wantsPush,
      onLivePage: () => {
        this.#noteUpToDate();
        this.#refreshStatus();
      },
      onLive: (isLive) => {
        this.#isLive = isLive;
        this.#refreshStatus();
      },
      onProgress: () => this.#refreshStatus(),
      onSessionEnded: (error) => void this.#endSession(error),
      onWiped: () => void this.#wipe(),
    });
    this.#network = network;
    if (this.#isListening) network.listener.start();
    return network;
  }

  // Effects

  #perform({ state, effects }: Transition): void {
    this.#state = state;
    for (const effect of effects) this.#run(effect);
    this.#refuseWaitersWhenPointless();
    this.#refreshStatus();
  }

  #run(effect: Effect): void {
    if (effect.type === 'push') this.#begin('pushed', (network, scope) => network.pusher.round(scope));
    else if (effect.type === 'pull') this.#begin('pulled', (network, scope) => network.pull(scope));
    else if (effect.type === 'wait') this.#wait(pauseMs(this.platform, effect.failures, effect.retryAfterMs));
    else if (effect.type === 'cancel_wait') this.#stopWaiting();
    else if (effect.type === 'cancel_work') this.#stopWork();
    else this.#listen(effect.type === 'listen');
  }

  #listen(isListening: boolean): void {
    this.#isListening = isListening;
    if (isListening) this.#network?.listener.start();
    else this.#network?.listener.stop();
  }

  #stopWork(): void {
    this.#work?.controller.abort();
    this.#work = null;
  }

  #stopWaiting(): void {
    this.#cancelWait();
    this.#retryAtMs = null;
  }

  #begin(type: 'pushed' | 'pulled', round: Round): void {
    const controller = new AbortController();
    const done = this.#report(type, controller, round);
    this.#work = { controller, done };
  }

  async #report(type: 'pushed' | 'pulled', controller: AbortController, round: Round): Promise<void> {
    // The work starts in its own turn, because its result is an event and events must not be nested.
    await Promise.resolve();
    try {
      await this.replica.loaded;
      const network = await this.network();
      if (controller.signal.aborted) return;
      const session = this.sessions.current();
      if (session === null) throw clientError('signed_out', 'nobody is signed in');
      const { userId, clientId } = session;
      const more = await round(network, { userId, clientId, signal: controller.signal });
      if (controller.signal.aborted) return;
      this.#clearError();
      this.#recordProgress(type === 'pulled');
      this.dispatch({ type, more });
    } catch (error) {
      if (!controller.signal.aborted) this.#fail(asClientError(error, 'store_failed'));
    }
  }

  #clearError(): void {
    if (!this.#isStoreLost) this.#error = null;
  }

  #fail(error: ClientError): void {
    if (error.code === 'sign_in_required' || error.code === 'signed_out') {
      void this.#endSession(error);
      return;
    }
    // The device is being erased.
    if (error.code === 'client_wiped') return;
    const { code, detail, status } = error;
    this.#error = { code, detail, status, atMs: this.platform.nowMs() };
    this.#waiters.fail(error);
    this.dispatch({ type: 'failed', retryAfterMs: error.retryAfterMs });
  }

  /** Stores the reason first, so that the status tells it as soon as it says that the user has to sign in. */
  async #endSession(error: ClientError): Promise<void> {
    // If the store fails here, the next call notices the end of the session again.
    const isStored = await this.sessions.end(error).then(
      () => true,
      () => false,
    );
    // The user may have signed in again meanwhile.
    if (!isStored || this.sessions.current() === null) this.dispatch({ type: 'session_ended' });
  }

  #wait(ms: number): void {
    this.#retryAtMs = this.platform.nowMs() + ms;
    this.#cancelWait = this.platform.after(ms, () => {
      this.#retryAtMs = null;
      this.dispatch({ type: 'retry_due' });
    });
  }

  #recordProgress(hasPulled: boolean): void {
    if (hasPulled) this.#noteUpToDate();
    this.#waiters.settle((goal) => this.#isReached(goal));
  }

  #noteUpToDate(): void {
    if (this.#network?.puller.isUpToDate) this.#syncedAtMs = this.platform.nowMs();
  }

  #isReached({ tick, order }: SyncGoal): boolean {
    if (!this.#network?.puller.isCaughtUpSince(tick) || this.replica.hasUnsavedBefore(order)) return false;
    for (const [, upload] of this.replica.reader.entries('uploads', '')) {
      if (upload.order < order && upload.state === 'waiting') return false;
    }
    return true;
  }

  // Hints

  #followNetwork(): void {
    this.dispatch({ type: this.#mayUseNetwork() ? 'went_online' : 'went_offline' });
    void this.#revoke();
  }

  #mayUseNetwork(): boolean {
    return !this.#isKeptOffline && (this.platform.network?.isOnline() ?? true);
  }

  // State for observers

  /** To be called after every change of the replica. */
  onChanged(tables: ReadonlySet<Table>): void {
    if (tables.has('uploads')) this.queueListeners.notify();
    if (tables.has('problems')) this.problemListeners.notify();
    this.#refreshStatus();
  }

  #syncRefusal(): ClientError | null {
    const { mode } = this.#state;
    if (mode === 'stopped') return clientError('closed', 'the device is closed');
    if (mode === 'offline') return clientError('offline', 'the device is offline');
    if (mode === 'signed_out') return clientError('signed_out', 'nobody is signed in');
    return mode === 'needs_sign_in' ? clientError('sign_in_required', 'the session has ended; sign in again') : null;
  }

  #refuseWaitersWhenPointless(): void {
    const refusal = this.#syncRefusal();
    if (refusal !== null) this.#waiters.fail(refusal);
  }

  #refreshStatus(): void {
    const status = this.#computeStatus();
    if (sameStatus(status, this.#status)) return;
    this.#status = status;
    this.statusListeners.notify();
  }

  #computeStatus(): DeviceStatus {
    const { mode, isOnline } = this.#state;
    const owner = this.sessions.owner();
    const rows = [...this.replica.reader.entries('sources', '')];
    return Object.freeze({
      mode,
      userId: mode === 'signed_out' ? null : (owner?.userId ?? null),
      clientId: owner?.clientId ?? null,
      isOnline,
      isLive: this.#isLive,
      isSyncing: mode === 'pushing' || mode === 'pulling',
      pendingUploads: this.replica.uploadsOpen,
      problems: this.replica.count('problems'),
      progress: this.#network?.puller.progress ?? null,
      lastSyncedAtMs: this.#syncedAtMs,
      sessionEnd: this.sessions.lastEnd(),
      error: this.#error,
      retryAtMs: this.#retryAtMs,
      sourceTroubles: new Map(this.#network?.puller.troubles),
      heals: rows.reduce((sum, [, { heals }]) => sum + heals, 0),
      tab: this.#options.tab,
      isLoading: this.replica.loaded !== null,
    });
  }

  /** After a restart it is derived from the stored state. */
  #lastCompleteMs(): number | null {
    const times = [...this.replica.reader.entries('sources', '')].map(([, { syncedAtMs }]) => syncedAtMs);
    const known = times.filter((timeMs) => timeMs !== null);
    return known.length === 0 ? null : Math.max(...known);
  }
}

/** Loads the state of the store in steps, so that the thread is free between them. */
export async function loadState({ store, loadEarly: load, platform }: EngineOptions): Promise<EarlyState> {
  const pause = () => nextTask(platform);
  if (load !== null) return load(store, pause);
  return { state: await LocalState.load(await store.load(), pause), fill: () => undefined };
}
