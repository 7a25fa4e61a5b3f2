import { asClientError } from '../client-error.ts';
import { loadState } from '../engine/alone.ts';
import { DeviceHost } from '../engine/device-host.ts';
import { Engine } from '../engine/engine.ts';
import type { EngineOptions } from '../engine/engine-options.ts';
import { nextTask } from '../engine/next-task.ts';
import type { LocalWrite } from '../ports/local-store.ts';
import type { TabFeatures } from '../ports/platform.ts';
import type { EarlyState } from '../replica/load-early.ts';
import { deferred } from '../replica/replica.ts';
import { inSteps } from '../state/in-steps.ts';
import type { LocalState } from '../state/local-state.ts';
import { StateDifference } from '../state/state-difference.ts';
import { randomId } from '../uploads/random-id.ts';
import { Candidacy } from './candidacy.ts';
import { Follower } from './follower.ts';
import { Leader } from './leader.ts';
import { TabLink } from './tab-link.ts';
import type { TabMessage } from './tab-messages.ts';
import { Term } from './term.ts';

/**
 * One of the tabs of an origin that share a device. One tab leads: it holds a lock, uses the store and the network, and sends every
 * commit to the others. The others hold the same state in memory; their changes and commands go to the tab that leads. When
 * that tab is closed or crashes, the lock passes on; when it does not answer, another tab takes the lock from it, and the fence of the
 * store refuses its commits from then on.
 */
export class Tab {
  readonly #options: EngineOptions;
  readonly #host: DeviceHost;
  readonly #link: TabLink;
  readonly #candidacy: Candidacy;
  readonly #follower: Follower;
  readonly #ready = deferred();
  /** True if the app has the device. */
  #isOpen = false;
  /** The time for which this tab leads, or is about to; null: it follows. */
  #term: Term | null = null;
  #leader: Leader | null = null;

  /** Opens a device. Resolves when this tab leads, or has the state of the tab that leads. */
  static async open(options: EngineOptions, name: string, tabs: TabFeatures): Promise<DeviceHost> {
    const tab = new Tab(options, name, tabs);
    tab.#candidacy.begin();
    tab.#link.askForState();
    // Also in a tab that follows: when it takes over, a new version of the app may have replaced the file.
    if (options.platform.network?.isOnline() ?? true) options.loadNetwork().catch(() => undefined);
    try {
      await tab.#ready.promise;
    } catch (error) {
      await tab.#host.close();
      throw error;
    }
    tab.#isOpen = true;
    return tab.#host;
  }

  constructor(options: EngineOptions, name: string, tabs: TabFeatures) {
    const host = new DeviceHost(options);
    const shared = { name, tabs, platform: options.platform, isClosed: () => host.isClosed };
    this.#options = options;
    this.#host = host;
    this.#link = new TabLink({
      ...shared,
      take: (message) => this.#take(message),
      takeOwn: (message) => {
        if (this.#term === null) this.#follower.takeOwn(message);
      },
    });
    this.#candidacy = new Candidacy({
      ...shared,
      ping: () => this.#link.post({ type: 'ping' }),
      onElected: () => void this.#lead(),
      onLost: () => this.#stepDown(),
    });
    this.#follower = new Follower({
      ...{ host, link: this.#link, isOpen: () => this.#isOpen },
      onHeard: () => this.#candidacy.heard(),
      onReady: () => this.#ready.resolve(),
    });
    host.writes.keepBy(this.#follower);
    host.become(this.#follower);
    host.onClosed = () => {
      this.#candidacy.end();
      this.#link.close();
      this.#follower.end();
    };
  }

  #take(message: TabMessage): void {
    if (this.#term === null) this.#follower.take(message);
    else if (this.#host.isClosed) return;
    else if (message.type === 'ping') this.#link.post({ type: 'pong', term: this.#term.id });
    else this.#leader?.take(message);
  }

  async #lead(): Promise<void> {
    if (this.#term !== null || this.#host.isClosed) return;
    const { store, platform } = this.#options;
    const term = new Term({ id: randomId(platform), store, link: this.#link, onLost: () => this.#stepDown() });
    this.#term = term;
    this.#candidacy.pause();
    this.#follower.pause();
    try {
      await this.#begin(term);
    } catch (error) {
      // Another tab leads by now, or this one does so again.
      if (this.#term !== term) return;
      this.#term = null;
      this.#ready.reject(error);
      this.#follower.fail(asClientError(error, 'store_failed'));
      this.#candidacy.giveUp();
    }
  }

  async #begin(term: Term): Promise<void> {
    const { replica, writes } = this.#host;
    const isWanted = () => this.#term === term && !this.#host.isClosed;
    // A tab that shows something already goes on with it until everything is loaded.
    const loadEarly = this.#follower.hasStatus ? null : this.#options.loadEarly;
    const { state, fill } = await loadState({ ...this.#options, loadEarly });
    const writesTo = replica.isEmpty && writes.isEmpty ? null : await this.#differenceTo(state, isWanted);
    if (!isWanted()) return;
    if (writesTo === null) replica.open(state);
    else replica.rebase(writesTo);
    writes.keepBy(term);
    if (!this.#isOpen) await replica.views.make(() => nextTask(this.#host.platform));
    if (isWanted()) this.#becomeLeader(term, fill);
  }

  /** The writes that make the state of this tab equal to what the store holds. */
  async #differenceTo(stored: LocalState, isWanted: () => boolean): Promise<readonly LocalWrite[]> {
    const difference = new StateDifference(this.#host.replica.reader);
    const pause = () => nextTask(this.#host.platform);
    const { count, slice } = stored.snapshot();
    await inSteps(count, pause, (from, to) => difference.take(slice(from, to)), isWanted);
    return difference.finish(pause, isWanted);
  }

  #becomeLeader(term: Term, fill: EarlyState['fill']): void {
    const [host, link] = [this.#host, this.#link];
    fill(host.replica);
    const engine = new Engine(this.#options, host, 'leader', this.#follower.isKeptOffline);
    const leader = new Leader({ host, link, term, engine });
    this.#leader = leader;
    for (const { message, resolve, reject } of this.#follower.takeCommands()) {
      leader.run(message.name, message.args as never).then(resolve, reject);
    }
    host.become(leader);
    this.#ready.resolve();
  }

  /** Another tab leads by now. What was not stored is sent there. */
  #stepDown(): void {
    const leader = this.#leader;
    if (this.#term === null || this.#host.isClosed) return;
    this.#term = null;
    this.#leader = null;
    if (leader !== null) this.#follower.resume(leader.shared);
    this.#host.writes.keepBy(this.#follower);
    this.#host.become(this.#follower);
    leader?.end();
    this.#link.askForState();
    this.#candidacy.begin();
  }
}
