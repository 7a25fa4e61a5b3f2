import type { LiveChange, SyncEvents } from '@tidemark/protocol';
import type { ClientError } from '../client-error.ts';
import type { MachineEvent } from '../machine/machine.ts';
import type { ProblemRow } from '../state/rows.ts';
import { ServerEventListener } from '../transport/event-listener.ts';
import { SessionCaller } from '../transport/session-caller.ts';
import { Wire } from '../transport/wire.ts';
import type { OutcomeEffects } from '../uploads/settle-outcome.ts';
import { Acknowledger } from './acknowledger.ts';
import { ConflictMerger } from './conflict-merger.ts';
import type { DeviceData } from './device-data.ts';
import { releaseHeld } from './held-uploads.ts';
import type { NetworkOptions } from './network-options.ts';
import { Puller } from './puller.ts';
import { Pusher } from './pusher.ts';
import { Revoker } from './revoker.ts';
import type { Sessions } from './sessions.ts';
import { SignIn } from './sign-in.ts';
import type { WorkScope } from './work-scope.ts';

/** What the network part needs of the engine. */
export interface NetworkParts {
  readonly options: NetworkOptions;
  readonly data: DeviceData;
  readonly sessions: Sessions;
  readonly dispatch: (event: MachineEvent) => void;
  readonly mayUseNetwork: () => boolean;
  /** True if a snapshot stream should stop for uploads. */
  readonly shouldYield: () => boolean;
  /** Called when a page of an event has made a source complete. */
  readonly onLivePage: () => void;
  readonly onLive: (isLive: boolean) => void;
  readonly onProgress: () => void;
  readonly onSessionEnded: (error: ClientError) => void;
  readonly onWiped: () => void;
}

/**
 * Everything that talks to the server: signing in, pushing, pulling, events, acknowledging, revoking. Reading and writing
 * need none of it, so it is a part of the SDK of its own, which `loadNetwork` loads after the start of the app.
 */
export class Network {
  readonly caller: SessionCaller;
  readonly puller: Puller;
  readonly pusher: Pusher;
  readonly listener: ServerEventListener;
  readonly revoker: Revoker;
  readonly signIn: SignIn;
  readonly #parts: NetworkParts;
  readonly #acknowledger: Acknowledger;
  readonly #merger: ConflictMerger;

  constructor(parts: NetworkParts) {
    const { options, data, sessions, mayUseNetwork, onWiped } = parts;
    const { replica, listeners } = data;
    const { platform, getToken, about, versions } = options;
    this.#parts = parts;
    const wire = new Wire(platform, options.url);
    this.revoker = new Revoker({ platform, wire, replica, mayUseNetwork });
    this.signIn = new SignIn({
      ...{ platform, wire, replica, sessions, revoker: this.revoker, about, versions, getToken, onWiped },
    });
    const caller = new SessionCaller(platform, wire, this.signIn);
    this.caller = caller;
    const clientId = () => (mayUseNetwork() ? (sessions.current()?.clientId ?? null) : null);
    this.#acknowledger = new Acknowledger(platform, caller, clientId);
    this.#merger = new ConflictMerger({
      ...{ data, functions: options.merge },
      isWanted: (source) => this.puller.wants.has(source),
      onMerged: () => parts.dispatch({ type: 'push_wanted' }),
      onProblem: (opId, problem) => listeners.events.problem.notify({ opId, ...problem }),
    });
    this.pusher = new Pusher(data, caller, {
      onOutcomes: (effects) => this.#takeOutcomes(effects),
      onInFlight: () => listeners.queue.notify(),
      readSources: (scope) => this.puller.readSources(scope),
    });
    this.puller = new Puller({ data, caller, hooks: this.#pullerHooks(), options });
    this.puller.wantAll();
    this.listener = new ServerEventListener(platform, caller, this.#listenerHooks(), options);
  }

  /** Sources with uploads are always pulled: the pull brings the applied changes and outcomes. */
  async pull(scope: WorkScope): Promise<boolean> {
    for (const [, { source }] of this.#parts.data.replica.reader.entries('uploads', '')) this.puller.want(source);
    const more = await this.puller.round(scope);
    if (await releaseHeld(this.#parts.data, this.puller.troubles, scope)) this.#parts.dispatch({ type: 'push_wanted' });
    if (!scope.signal.aborted) void this.signIn.describe(this.caller, scope.signal);
    if (!scope.signal.aborted) void this.#merger.mergeAll();
    return more;
  }

  /** A server that thinks that the app is older than it is would refuse it. */
  async introduce(scope: WorkScope): Promise<void> {
    if (this.#parts.options.versions !== null) await this.signIn.describe(this.caller, scope.signal);
  }

  /** Drops all knowledge about the server, because the session has ended or another one begins. */
  forget(): void {
    this.#acknowledger.stop();
    this.puller.forget();
  }

  /** Tells the server what the device holds, if that takes no time. */
  acknowledge(): Promise<void> {
    return this.#acknowledger.flush();
  }

  /** Stops at once, except for an acknowledgement, for which it waits a short time if `isAcknowledging`. */
  async stop(isAcknowledging: boolean): Promise<void> {
    this.revoker.stop();
    this.puller.stopWaiting();
    if (isAcknowledging) await this.#acknowledger.flush();
    this.#acknowledger.stop();
  }

  #pullerHooks() {
    const { data, shouldYield, onLivePage, onProgress } = this.#parts;
    return {
      onOutcomes: (effects: readonly OutcomeEffects[]) => this.#takeOutcomes(effects),
      onPresenting: (sources: readonly string[]) => this.#acknowledger.skip(sources),
      onCaughtUp: this.#acknowledger.note.bind(this.#acknowledger),
      onHealed: (source: string, reason: string) => data.listeners.events.healed.notify({ source, reason }),
      shouldYield,
      onDue: (source: string) => this.#pullSoon(source),
      onLiveApplied: (source: string, token: string) => {
        this.#acknowledger.noteLive({ source }, token);
        onLivePage();
      },
      onProgress,
    };
  }

  #listenerHooks() {
    const { data, onLive, onSessionEnded } = this.#parts;
    return {
      onPull: (source: string | null) => this.#pullSoon(source),
      onSourcesChanged: () => {
        this.puller.wantEverything();
        this.#parts.dispatch({ type: 'pull_wanted' });
      },
      onPage: (change: LiveChange, signal: AbortSignal) => this.#takeLivePage(change, signal),
      onPing: (ping: unknown) => data.listeners.events.ping.notify(ping as SyncEvents['ping']),
      onLive,
      onSessionEnded,
    };
  }

  /** The signal is that of the event stream, which ends with the session. */
  #takeLivePage(change: LiveChange, signal: AbortSignal): void {
    const session = this.#parts.sessions.current();
    if (session === null) return;
    // A page is applied to all objects. Until they are loaded it is left to the next pull.
    if (this.#parts.data.replica.loaded !== null) {
      this.#pullSoon(change.source);
      return;
    }
    const { userId, clientId } = session;
    this.puller.takeLive(change, { userId, clientId, signal });
  }

  /** Null: all sources. */
  #pullSoon(source: string | null): void {
    if (source === null) this.puller.wantAll();
    else this.puller.wantNamed(source);
    this.#parts.dispatch({ type: 'pull_wanted' });
  }

  #takeOutcomes(effects: readonly OutcomeEffects[]): void {
    for (const effect of effects) {
      if (effect.kind === 'problem') this.#takeProblem(effect.opId, effect.problem);
      else {
        const { source, from, to } = effect;
        this.#parts.data.listeners.events.linked.notify({ source, from, to });
      }
    }
  }

  /** The pull after a conflict brings what the other writer has changed, on which the app can then build. */
  #takeProblem(opId: string, problem: ProblemRow): void {
    const { source, status } = problem;
    if (status === 'conflict') {
      this.#pullSoon(source);
      this.#parts.dispatch({ type: 'push_wanted' });
      if (this.#merger.merges(source)) {
        this.#merger.add(opId);
        return;
      }
    }
    this.#parts.data.listeners.events.problem.notify({ opId, ...problem });
  }
}
