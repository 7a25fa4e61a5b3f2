import { asClientError, type ClientError, clientError } from '../client-error.ts';
import {
  type Effect,
  firstState,
  isConnected,
  type MachineEvent,
  type MachineState,
  next,
  type Transition,
} from '../machine/machine.ts';
import type { Table } from '../ports/local-store.ts';
import { startOver } from '../pull/start-over.ts';
import { pauseMs } from '../transport/pause-ms.ts';
import { Departures } from './departures.ts';
import type { DeviceData } from './device-data.ts';
import type { EngineOptions } from './engine-options.ts';
import { LazyFiles } from './lazy-files.ts';
import { LazyNetwork } from './lazy-network.ts';
import type { Network } from './network.ts';
import { Sessions } from './sessions.ts';
import type { DeviceStatus } from './status.ts';
import { StatusBoard } from './status-board.ts';
import { type SyncGoal, SyncWaiters, syncRefusal } from './sync-waiters.ts';
import type { WorkScope } from './work-scope.ts';

interface Work {
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

/** A push or pull. Resolves to true if another one must follow. */
type Round = (network: Network, scope: WorkScope) => Promise<boolean>;

const NONE: ReadonlySet<string> = new Set();
const NOTHING = () => undefined;

/**
 * Runs the effects of the state machine, one push or pull at a time, and reports their results to it as events. All
 * decisions are made by the machine.
 */
export class Engine {
  readonly data: DeviceData;
  readonly sessions: Sessions;
  readonly network = new LazyNetwork(() => this.#loadNetwork());
  readonly files: LazyFiles;
  readonly departures: Departures;
  readonly #options: EngineOptions;
  readonly #board: StatusBoard;
  readonly #waiters = new SyncWaiters();
  #state: MachineState;
  #work: Work | null = null;
  #cancelWait: () => void = NOTHING;
  #isKeptOffline: boolean;
  #stopHints: () => void = NOTHING;

  /** `tab` is `leader` if the engine works for other tabs, too. */
  constructor(options: EngineOptions, data: DeviceData, tab: DeviceStatus['tab'], isKeptOffline = false) {
    const { platform, store } = options;
    const { network } = this;
    this.data = data;
    this.#options = options;
    this.#isKeptOffline = isKeptOffline;
    const sessions = new Sessions(data);
    this.sessions = sessions;
    const first = firstState(sessions.kind(), this.#mayUseNetwork());
    this.#state = first.state;
    this.#board = new StatusBoard({ data, sessions, network, tab, machine: () => this.#state });
    const onSessionEnded = (error: ClientError) => void this.departures.end(error);
    const isAtWork = () => isConnected(this.mode);
    const fileParts = { options, data, sessions, network, isConnected: isAtWork, onSessionEnded };
    this.files = new LazyFiles(fileParts, options.loadFileWork);
    this.departures = new Departures({
      ...{ data, sessions, network, files: this.files, mayUseNetwork: () => this.#mayUseNetwork() },
      onLeft: () => this.#leave(),
      onEnded: () => this.dispatch({ type: 'session_ended' }),
      onFailed: (error) => this.#fail(error),
    });
    this.#stopHints = platform.network?.onChange(() => this.#followNetwork()) ?? NOTHING;
    this.#perform(first);
    void this.departures.revoke();
    // Early, so that the first sign-in does not wait for it. If it fails, the first use tries again.
    if (this.#mayUseNetwork()) network.load().catch(NOTHING);
    // Without a network nothing else would notice it.
    data.replica.loaded?.catch((error: unknown) => this.#fail(asClientError(error, 'store_failed')));
    store.onLost?.((error) => {
      this.#board.noteStoreLost();
      this.#fail(error);
    });
  }

  get status(): DeviceStatus {
    return this.#board.status;
  }

  get mode(): MachineState['mode'] {
    return this.#state.mode;
  }

  /** The switch of the app, which counts in addition to the hint of the platform. */
  get isKeptOffline(): boolean {
    return this.#isKeptOffline;
  }

  /** The op_ids of the uploads that are being sent. */
  get inFlight(): ReadonlySet<string> {
    return this.network.current?.pusher.inFlight ?? NONE;
  }

  dispatch(event: MachineEvent): void {
    this.#perform(next(this.#state, event));
  }

  /** To be called after every change of the replica. */
  onChanged(tables: ReadonlySet<Table>): void {
    if (tables.has('uploads')) this.data.listeners.queue.notify();
    if (tables.has('problems')) this.data.listeners.problems.notify();
    if (tables.has('facts')) {
      this.data.listeners.files.notify();
      this.files.follow();
    }
    this.#board.refresh();
  }

  /**
   * Resolves when the uploads made before now are sent, and the device has the current state of the server and has told it
   * so, if that takes no time.
   */
  sync(): Promise<void> {
    const refusal = syncRefusal(this.mode);
    if (refusal !== null) return Promise.reject(refusal);
    const network = this.network.current;
    const waiting = this.#waiters.wait({ tick: network?.puller.wants.tick ?? 0, order: this.data.writes.orderNext });
    network?.puller.wantEverything();
    network?.listener.retryNow();
    this.dispatch({ type: 'sync_wanted' });
    return waiting.then(() => this.network.current?.acknowledge());
  }

  keepOffline(isKeptOffline: boolean): void {
    this.#isKeptOffline = isKeptOffline;
    this.#followNetwork();
  }

  /** Starts a session, which asks for everything again. */
  beginSession(): void {
    this.network.current?.forget();
    this.network.current?.puller.wantAll();
    this.#board.clearError();
    this.dispatch({ type: 'signed_in' });
    void this.departures.revoke();
  }

  /** Fetches everything again. Waiting uploads stay. */
  async startOver(): Promise<void> {
    await this.data.replica.transact((tx) => {
      for (const [source, row] of [...tx.entries('sources', '')]) {
        startOver(tx, { source }, row);
        for (const [group, own] of [...tx.entries('sources', source)]) startOver(tx, { source, group }, own);
      }
    });
    if (this.mode !== 'signed_out' && this.mode !== 'needs_sign_in') this.beginSession();
  }

  /**
   * Stops all work. Resolves when the work under way has ended. If `isAcknowledging`, the server is told what the device
   * holds, if that takes no time.
   */
  async stop({ isAcknowledging = false } = {}): Promise<void> {
    this.#stopHints();
    this.departures.stop();
    this.files.stop();
    const network = this.network.current;
    const stopped = network?.stop(isAcknowledging);
    // Work that still waits for the network part has not begun.
    const done = network === null ? null : this.#work?.done;
    this.dispatch({ type: 'closed' });
    await done;
    await stopped;
  }

  async #loadNetwork(): Promise<Network> {
    const { Network } = await this.#options.loadNetwork();
    if (this.mode === 'stopped') throw clientError('closed', 'the device is closed');
    const network = new Network({
      ...{ options: this.#options, data: this.data, sessions: this.sessions },
      dispatch: (event) => this.dispatch(event),
      mayUseNetwork: () => this.#mayUseNetwork(),
      shouldYield: () => this.#state.wantsPush,
      onLivePage: () => {
        this.#board.noteSynced();
        this.#board.refresh();
      },
      onLive: (isLive) => this.#board.noteLive(isLive),
      onProgress: () => this.#board.refresh(),
      onSessionEnded: (error) => void this.departures.end(error),
      onWiped: () => void this.departures.wipe(),
    });
    if (isConnected(this.mode)) network.listener.start();
    return network;
  }

  // Effects

  #perform({ state, effects }: Transition): void {
    this.#state = state;
    for (const effect of effects) this.#run(effect);
    const refusal = syncRefusal(this.mode);
    if (refusal !== null) this.#waiters.fail(refusal);
    this.#board.refresh();
    this.files.follow();
  }

  #run(effect: Effect): void {
    if (effect.type === 'push') this.#begin('pushed', (network, scope) => network.pusher.round(scope));
    else if (effect.type === 'pull') this.#begin('pulled', (network, scope) => network.pull(scope));
    else if (effect.type === 'wait') this.#wait(pauseMs(this.data.platform, effect.failures, effect.retryAfterMs));
    else if (effect.type === 'cancel_wait') this.#stopWaiting();
    else if (effect.type === 'cancel_work') this.#stopWork();
    else if (effect.type === 'listen') this.network.current?.listener.start();
    else this.network.current?.listener.stop();
  }

  #stopWork(): void {
    this.#work?.controller.abort();
    this.#work = null;
  }

  #wait(ms: number): void {
    const { platform } = this.data;
    this.#board.noteRetry(platform.nowMs() + ms);
    this.#cancelWait = platform.after(ms, () => {
      this.#board.noteRetry(null);
      this.dispatch({ type: 'retry_due' });
    });
  }

  #stopWaiting(): void {
    this.#cancelWait();
    this.#board.noteRetry(null);
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
      await this.data.replica.loaded;
      const network = await this.network.load();
      if (controller.signal.aborted) return;
      const session = this.sessions.current();
      if (session === null) throw clientError('signed_out', 'nobody is signed in');
      const { userId, clientId } = session;
      const scope = { userId, clientId, signal: controller.signal };
      await network.introduce(scope);
      const more = await round(network, scope);
      if (controller.signal.aborted) return;
      this.#board.clearError();
      if (type === 'pulled') this.#board.noteSynced();
      this.#waiters.settle((goal) => this.#isReached(goal));
      this.dispatch({ type, more });
    } catch (error) {
      if (!controller.signal.aborted) this.#fail(asClientError(error, 'store_failed'));
    }
  }

  #fail(error: ClientError): void {
    if (error.code === 'sign_in_required' || error.code === 'signed_out') {
      void this.departures.end(error);
      return;
    }
    // The device is being erased.
    if (error.code === 'client_wiped') return;
    this.#board.noteError(error);
    this.#waiters.fail(error);
    this.dispatch({ type: 'failed', retryAfterMs: error.retryAfterMs });
  }

  #leave(): void {
    this.dispatch({ type: 'signed_out' });
    this.network.current?.forget();
    this.#board.forget();
  }

  #isReached({ tick, order }: SyncGoal): boolean {
    const { writes, replica } = this.data;
    if (!this.network.current?.puller.isCaughtUpSince(tick) || writes.hasUnsavedBefore(order)) return false;
    for (const [, upload] of replica.reader.entries('uploads', '')) {
      if (upload.order < order && upload.state === 'waiting') return false;
    }
    return true;
  }

  #followNetwork(): void {
    this.dispatch({ type: this.#mayUseNetwork() ? 'went_online' : 'went_offline' });
    void this.departures.revoke();
  }

  #mayUseNetwork(): boolean {
    return !this.#isKeptOffline && (this.#options.platform.network?.isOnline() ?? true);
  }
}
