import { clientError } from '../client-error.ts';
import { Alone } from '../engine/alone.ts';
import type { CommandArguments, CommandName, CommandResult } from '../engine/commands.ts';
import type { DeviceHost } from '../engine/device-host.ts';
import type { DeviceEvents } from '../engine/device-listeners.ts';
import type { Engine } from '../engine/engine.ts';
import { nextTask } from '../engine/next-task.ts';
import { inSteps } from '../state/in-steps.ts';
import { requireWriter } from '../state/owner.ts';
import type { NewUpload } from '../state/rows.ts';
import type { TabLink } from './tab-link.ts';
import { type SharedStatus, sentError, type TabMessage } from './tab-messages.ts';
import type { Term } from './term.ts';

const EVENT_NAMES: readonly (keyof DeviceEvents)[] = ['problem', 'linked', 'healed', 'ping'];

interface LeaderParts {
  readonly host: DeviceHost;
  readonly link: TabLink;
  readonly term: Term;
  readonly engine: Engine;
}

/**
 * The role of the tab that leads. It does what a device does that is alone, sends its state and its status to the other tabs, and
 * does for them what they ask for.
 */
export class Leader extends Alone {
  readonly #host: DeviceHost;
  readonly #link: TabLink;
  readonly #term: Term;
  readonly #unsubscribe: readonly (() => void)[];
  #answerNext = 0;
  #isOver = false;

  constructor({ host, link, term, engine }: LeaderParts) {
    super(engine);
    this.#host = host;
    this.#link = link;
    this.#term = term;
    const { status, queue, files } = host.listeners;
    const share = () => link.post({ type: 'status', term: term.id, ...this.shared });
    this.#unsubscribe = [
      ...[status, queue, files].map((listeners) => listeners.add(share)),
      ...EVENT_NAMES.map((name) => this.#forward(name)),
    ];
    link.post({ type: 'leading', term: term.id });
  }

  get shared(): SharedStatus {
    const { status, inFlight, isKeptOffline } = this.engine;
    return { status, inFlight: [...inFlight], isKeptOffline, files: this.filesUnderWay };
  }

  override run<C extends CommandName>(name: C, args: CommandArguments<C>): Promise<CommandResult<C>> {
    if (this.#host.isClosed) return Promise.reject(clientError('closed', 'the device is closed'));
    return super.run(name, args);
  }

  take(message: TabMessage): void {
    if (message.type === 'hello') void this.#sendState(message.from);
    else if (message.type === 'write') this.#takeWrite(message);
    else if (message.type === 'run') void this.#answer(message);
  }

  /** Another tab leads by now. */
  end(): void {
    this.#isOver = true;
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    void this.engine.stop();
  }

  #forward<E extends keyof DeviceEvents>(name: E): () => void {
    const { events } = this.#host.listeners;
    return events[name].add((data) => this.#link.post({ type: 'event', term: this.#term.id, name, data }));
  }

  #takeWrite({ uploads, writer }: Extract<TabMessage, { readonly type: 'write' }>): void {
    const { writes } = this.#host;
    const opIds = uploads.map(([opId]) => opId);
    const known = writes.has(opIds.at(-1) ?? '');
    if (known === 'stored') this.#link.post({ type: 'saved', opIds });
    if (known !== null) return;
    const numbered = uploads.map(([opId, row]): NewUpload => [opId, { ...row, order: writes.takeOrder() }]);
    writes
      .write(numbered, (tx) => requireWriter(tx, writer))
      .then(
        () => this.onWritten(),
        (error: unknown) => this.#link.post({ type: 'refused', opIds, error: sentError(error) }),
      );
  }

  async #answer({ from, id, name, args }: Extract<TabMessage, { readonly type: 'run' }>): Promise<void> {
    try {
      const value = await this.run(name, args as never);
      this.#link.post({ type: 'result', to: from, id, value });
    } catch (error) {
      if (!this.#isOver) this.#link.post({ type: 'result', to: from, id, error: sentError(error) });
    }
  }

  /** Sends the whole state to one tab, in parts, so that no part takes long. */
  async #sendState(to: string): Promise<void> {
    const { replica, platform } = this.#host;
    // If loading fails, the status says so, and the tab that asked asks again.
    await replica.loaded;
    const { count: rowCount, slice } = replica.reader.snapshot();
    const answer = { term: this.#term.id, number: this.#answerNext++ };
    const { seq } = this.#term;
    await this.#link.send(to, async (post) => {
      const postRows = (from: number, end: number) => post({ type: 'rows', ...answer, rows: slice(from, end) });
      const pause = () => nextTask(platform);
      await inSteps(rowCount, pause, postRows, () => !this.#isOver);
      if (!this.#isOver) post({ type: 'snapshot', ...answer, seq, rowCount, ...this.shared });
    });
  }
}
