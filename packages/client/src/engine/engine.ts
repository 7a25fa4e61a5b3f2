import type { LiveChange, SyncEvents } from '@tidemark/protocol';
import { asClientError, type ClientError, clientError } from '../client-error.ts';
import {
  type Effect,
  firstState,
  type MachineEvent,
  type MachineState,
  next,
  type Transition,
} from '../machine/machine.ts';
import type { LocalStore, Table } from '../ports/local-store.ts';
import type { Platform } from '../ports/platform.ts';
import { type Show, startOver } from '../pull/apply-page.ts';
import type { RowPlace } from '../state/group-rows.ts';
import type { EarlyState, loadEarly } from '../state/load-early.ts';
import { LocalState } from '../state/local-state.ts';
import { Replica } from '../state/replica.ts';
import type { ProblemRow } from '../state/rows.ts';
import { pauseMs } from '../transport/pause-ms.ts';
import { SessionCaller } from '../transport/session-caller.ts';
import { Wire } from '../transport/wire.ts';
import type { MergeFunction } from '../uploads/resolve-problem.ts';
import type { OutcomeEffects } from '../uploads/settle-outcome.ts';
import { Acknowledger } from './acknowledger.ts';
import { ConflictMerger } from './conflict-merger.ts';
import { type DeviceListeners, newDeviceListeners } from './device-listeners.ts';
import { LazyEventListener } from './lazy-event-listener.ts';
import { nextTask } from './next-task.ts';
import { Listeners } from './observable.ts';
import { Puller } from './puller.ts';
import { Pusher } from './pusher.ts';
import { type GetToken, Sessions } from './sessions.ts';
import { type DeviceStatus, sameStatus } from './status.ts';
import { type SyncGoal, SyncWaiters } from './sync-waiters.ts';
import type { WorkScope } from './work-scope.ts';

export interface EngineOptions {
  readonly url: string;
  readonly store: LocalStore;
  readonly platform: Platform;
  readonly sources: readonly string[] | null;
  readonly pageObjects: number | null;
  readonly pollMs: number;
  readonly usesStream: boolean;
  readonly usesSnapshots: boolean;
  readonly show: Show;
  /** Loads the last results of queries before everything else; null: everything is loaded first. */
  readonly loadEarly: typeof loadEarly | null;
  readonly getToken: GetToken | null;
  /** Merge functions by source. */
  readonly merge: Readonly<Record<string, MergeFunction>>;
  /** `leader` if the engine works for other tabs, too. */
  readonly tab: DeviceStatus['tab'];
}

interface Work {
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

/**
 * Runs the effects of the state machine, one push or pull at a time, and reports their results to it as events. All
 * decisions are made by the machine.
 */
export class Engine {
  readonly replica: Replica;
  readonly platform: Platform;
  readonly sessions: Sessions;
  readonly caller: SessionCaller;
  readonly puller: Puller;
  readonly pusher: Pusher;
  readonly statusListeners: DeviceListeners['statusListeners'];
  readonly queueListeners: DeviceListeners['queueListeners'];
  readonly problemListeners: DeviceListeners['problemListeners'];
  readonly eventListeners: DeviceListeners['eventListeners'];
  readonly #listener: LazyEventListener;
  readonly #acknowledger: Acknowledger;
  readonly #waiters = new SyncWaiters();
  readonly #merger: ConflictMerger;
  readonly #tab: DeviceStatus['tab'];
  #state: MachineState;
  #status: DeviceStatus;
  #work: Work | null = null;
  #cancelWait: () => void = () => undefined;
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
    this.#tab = options.tab;
    this.platform = platform;
    this.replica = replica;
    this.#merger = new ConflictMerger({
      ...{ replica, platform, functions: options.merge },
      isWanted: (source) => this.puller.wants.has(source),
      onMerged: () => this.dispatch({ type: 'push_wanted' }),
      onProblem: (opId, problem) => this.eventListeners.problem.notify({ opId, ...problem }),
    });
    const wire = new Wire(platform, options.url);
    this.sessions = new Sessions({
      ...{ platform, wire, replica, getToken: options.getToken },
      mayUseNetwork: () => this.#mayUseNetwork(),
      onWiped: () => void this.#wipe(),
    });
    const caller = new SessionCaller(platform, wire, this.sessions);
    this.caller = caller;
    const onOutcomes = (outcomeEffects: readonly OutcomeEffects[]) => this.#emitOutcomes(outcomeEffects);
    this.pusher = new Pusher(platform, replica, caller, { onOutcomes, onInFlight: () => this.queueListeners.notify() });
    this.#acknowledger = new Acknowledger(platform, caller, () =>
      this.#mayUseNetwork() ? (this.sessions.current()?.clientId ?? null) : null,
    );
    const hooks = {
      onOutcomes,
      onPresenting: (sources: readonly string[]) => this.#acknowledger.skip(sources),
      onCaughtUp: (place: RowPlace, token: string) => this.#acknowledger.note(place, token),
      onHealed: (source: string, reason: string) => this.eventListeners.healed.notify({ source, reason }),
      shouldYield: () => this.#state.wantsPush,
      onDue: (source: string) => this.#pullSoon(source),
      onLiveApplied: (source: string, token: string) => this.#recordLivePage(source, token),
      onProgress: () => this.#refreshStatus(),
    };
    this.puller = new Puller({ platform, replica, caller, hooks, options });
    this.#listener = new LazyEventListener(
      platform,
      ({ ServerEventListener }) => new ServerEventListener(platform, caller, this.#listenerHooks(), options),
    );
    this.#syncedAtMs = this.#lastCompleteMs();
    const first = firstState(this.sessions.kind(), this.#mayUseNetwork());
    this.#state = first.state;
    this.#status = this.#computeStatus();
    this.puller.wantAll();
    this.#stopHints = platform.network?.onChange(() => this.#followNetwork()) ?? (() => undefined);
    this.#perform(first);
    void this.sessions.revoker.flush();
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

  dispatch(event: MachineEvent): void {
    this.#perform(next(this.#state, event));
  }

  /** Resolves when the uploads made before now are sent, and the device has the current state of the server. */
  sync(signal: AbortSignal | undefined): Promise<void> {
    const refusal = this.#syncRefusal();
    if (refusal !== null) return Promise.reject(refusal);
    if (signal?.aborted) return Promise.reject(clientError('aborted', 'the caller stopped waiting for the sync'));
    const waiting = this.#waiters.wait({ tick: this.puller.wants.tick, order: this.replica.orderNext }, signal);
    this.puller.wantAll();
    this.#listener.retryNow();
    this.dispatch({ type: 'sync_wanted' });
    return waiting;
  }

  /** The switch of the app, which counts in addition to the hint of the platform. */
  keepOffline(isKeptOffline: boolean): void {
    this.#isKeptOffline = isKeptOffline;
    this.#followNetwork();
  }

  /** Starts a session, which asks for everything again. */
  beginSession(): void {
    this.#acknowledger.stop();
    this.puller.forget();
    this.puller.wantAll();
    this.#clearError();
    this.dispatch({ type: 'signed_in' });
    void this.sessions.revoker.flush();
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
    await this.sessions.revoker.flush();
  }

  /** Erases everything because the server has ordered it, then confirms. If the store fails, the next call is refused again. */
  async #wipe(): Promise<void> {
    const session = this.sessions.current();
    if (session === null || this.#isWiping) return;
    this.#isWiping = true;
    try {
      await this.sessions.erase(session);
      this.#leave();
      await this.sessions.revoker.flush();
    } catch (error) {
      this.#fail(asClientError(error, 'store_failed'));
    } finally {
      this.#isWiping = false;
    }
  }

  #leave(): void {
    this.dispatch({ type: 'signed_out' });
    this.#acknowledger.stop();
    this.puller.forget();
    this.#clearError();
    this.#syncedAtMs = null;
    this.#refreshStatus();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.replica.close();
  }

  /** Stops all work. Resolves when the work under way has ended. */
  async stop(): Promise<void> {
    this.#stopHints();
    this.sessions.revoker.stop();
    this.puller.stopWaiting();
    this.#acknowledger.stop();
    const { done } = this.#work ?? { done: Promise.resolve() };
    this.dispatch({ type: 'closed' });
    await done;
  }

  // Effects

  #perform({ state, effects }: Transition): void {
    this.#state = state;
    for (const effect of effects) this.#run(effect);
    this.#refuseWaitersWhenPointless();
    this.#refreshStatus();
  }

  #run(effect: Effect): void {
    if (effect.type === 'push') this.#begin('pushed', (scope) => this.pusher.round(scope));
    else if (effect.type === 'pull') this.#begin('pulled', (scope) => this.#pull(scope));
    else if (effect.type === 'wait') this.#wait(pauseMs(this.platform, effect.failures, effect.retryAfterMs));
    else if (effect.type === 'cancel_wait') this.#stopWaiting();
    else if (effect.type === 'cancel_work') this.#stopWork();
    else if (effect.type === 'listen') this.#listener.start();
    else this.#listener.stop();
  }

  #stopWork(): void {
    this.#work?.controller.abort();
    this.#work = null;
  }

  #stopWaiting(): void {
    this.#cancelWait();
    this.#retryAtMs = null;
  }

  #begin(type: 'pushed' | 'pulled', round: (scope: WorkScope) => Promise<boolean>): void {
    const controller = new AbortController();
    const done = this.#report(type, controller, round);
    this.#work = { controller, done };
  }

  async #report(
    type: 'pushed' | 'pulled',
    controller: AbortController,
    round: (scope: WorkScope) => Promise<boolean>,
  ): Promise<void> {
    // The work starts in its own turn, because its result is an event and events must not be nested.
    await Promise.resolve();
    try {
      await this.replica.loaded;
      if (controller.signal.aborted) return;
      const session = this.sessions.current();
      if (session === null) throw clientError('signed_out', 'nobody is signed in');
      const { userId, clientId } = session;
      const more = await round({ userId, clientId, signal: controller.signal });
      if (controller.signal.aborted) return;
      this.#clearError();
      this.#recordProgress(type === 'pulled');
      this.dispatch({ type, more });
    } catch (error) {
      if (!controller.signal.aborted) this.#fail(asClientError(error, 'store_failed'));
    }
  }

  /** Sources with uploads are always pulled: the pull brings the applied changes and outcomes. */
  #pull(scope: WorkScope): Promise<boolean> {
    for (const [, { source }] of this.replica.reader.entries('uploads', '')) this.puller.want(source);
    return this.puller.round(scope);
  }

  #clearError(): void {
    if (!this.#isStoreLost) this.#error = null;
  }

  #fail(error: ClientError): void {
    if (error.code === 'sign_in_required' || error.code === 'signed_out') {
      this.#endSession(error);
      return;
    }
    // The device is being erased.
    if (error.code === 'client_wiped') return;
    const { code, detail, status } = error;
    this.#error = { code, detail, status, atMs: this.platform.nowMs() };
    this.#waiters.fail(error);
    this.dispatch({ type: 'failed', retryAfterMs: error.retryAfterMs });
  }

  #endSession(error: ClientError): void {
    this.dispatch({ type: 'session_ended' });
    // If the store fails here, the next call notices the end of the session again.
    this.sessions.end(error).catch(() => undefined);
  }

  #wait(ms: number): void {
    this.#retryAtMs = this.platform.nowMs() + ms;
    this.#cancelWait = this.platform.after(ms, () => {
      this.#retryAtMs = null;
      this.dispatch({ type: 'retry_due' });
    });
  }

  #recordProgress(hasPulled: boolean): void {
    if (hasPulled) void this.#merger.mergeAll();
    if (hasPulled && this.puller.isUpToDate) this.#syncedAtMs = this.platform.nowMs();
    this.#waiters.settle((goal) => this.#isReached(goal));
  }

  #recordLivePage(source: string, token: string): void {
    this.#acknowledger.noteLive({ source }, token);
    if (this.puller.isUpToDate) this.#syncedAtMs = this.platform.nowMs();
    this.#refreshStatus();
  }

  #isReached({ tick, order }: SyncGoal): boolean {
    if (!this.puller.isCaughtUpSince(tick) || this.replica.hasUnsavedBefore(order)) return false;
    for (const [, upload] of this.replica.reader.entries('uploads', '')) {
      if (upload.order < order && upload.state === 'waiting') return false;
    }
    return true;
  }

  // Hints

  #listenerHooks() {
    return {
      onPull: (source: string | null) => this.#pullSoon(source),
      onPage: (change: LiveChange, signal: AbortSignal) => this.#takeLivePage(change, signal),
      onPing: (data: unknown) => this.eventListeners.ping.notify(data as SyncEvents['ping']),
      onLive: (isLive: boolean) => {
        this.#isLive = isLive;
        this.#refreshStatus();
      },
      onSessionEnded: (error: ClientError) => this.#endSession(error),
    };
  }

  /** The signal is that of the event stream, which ends with the session. */
  #takeLivePage(change: LiveChange, signal: AbortSignal): void {
    const session = this.sessions.current();
    if (session === null) return;
    // A page is applied to all objects. Until they are loaded it is left to the next pull.
    if (this.replica.loaded !== null) {
      this.#pullSoon(change.source);
      return;
    }
    const { userId, clientId } = session;
    this.puller.takeLive(change, { userId, clientId, signal });
  }

  /** Null: all sources. */
  #pullSoon(source: string | null): void {
    if (source === null) this.puller.wantAll();
    else this.puller.want(source);
    this.dispatch({ type: 'pull_wanted' });
  }

  #followNetwork(): void {
    this.dispatch({ type: this.#mayUseNetwork() ? 'went_online' : 'went_offline' });
    void this.sessions.revoker.flush();
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

  #emitOutcomes(outcomeEffects: readonly OutcomeEffects[]): void {
    for (const item of outcomeEffects) {
      if (item.kind === 'problem') this.#takeProblem(item.opId, item.problem);
      else this.eventListeners.linked.notify({ source: item.source, from: item.from, to: item.to });
    }
  }

  /** The pull after a conflict brings what the other writer has changed, on which the app can then build. */
  #takeProblem(opId: string, problem: ProblemRow): void {
    const { source, status } = problem;
    if (status === 'conflict') {
      this.puller.want(source);
      this.dispatch({ type: 'pull_wanted' });
      this.dispatch({ type: 'push_wanted' });
      if (this.#merger.merges(source)) {
        this.#merger.add(opId);
        return;
      }
    }
    this.eventListeners.problem.notify({ opId, ...problem });
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
      progress: this.puller.progress,
      lastSyncedAtMs: this.#syncedAtMs,
      sessionEnd: this.sessions.lastEnd(),
      error: this.#error,
      retryAtMs: this.#retryAtMs,
      sourceTroubles: new Map(this.puller.troubles),
      heals: rows.reduce((sum, [, { heals }]) => sum + heals, 0),
      tab: this.#tab,
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
