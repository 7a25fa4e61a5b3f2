import type { Tidemark } from '@tidemark/core';
import { Dice, seededRandom } from '@tidemark/testing/kit';
import { say } from '../say.ts';
import { startWatchdog } from '../watchdog.ts';
import { drawOperation, type WriterState } from './draw-operation.ts';
import { factKey } from './facts.ts';
import type { Line, WorkerOrders } from './line.ts';
import { clientOf, KEEPER, loginOf, SOURCES, WRITERS } from './names.ts';
import { openTidemark } from './open-tidemark.ts';
import { type Answer, isAboutObjects, type Operation } from './operation.ts';
import { performOperation } from './perform-operation.ts';

/**
 * The process that is killed. It does what its writers draw and says so, until somebody ends it; it never ends by
 * itself.
 */
const LIFE_MS = 600_000;

class WriterLoop {
  readonly #tidemark: Tidemark;
  readonly #dice: Dice;
  readonly #isLiar: boolean;
  #state: WriterState;

  constructor(tidemark: Tidemark, orders: WorkerOrders, writer: number) {
    this.#tidemark = tidemark;
    this.#dice = new Dice(seededRandom(orders.seed * WRITERS.length + writer));
    this.#isLiar = orders.isLiar;
    this.#state = {
      writer,
      hasUser: orders.known.includes(factKey.user(loginOf(writer))),
      hasClient: orders.known.includes(factKey.client(clientOf(writer))),
      token: orders.tokens[writer] ?? null,
      batchPercent: orders.batchPercent,
    };
  }

  /**
   * What all others need: the sources, a shared partition that was written to, and a tidemark of the device that
   * watches it. From then on no trim may pass that device, however the others trim.
   */
  async setUp(known: readonly string[]): Promise<void> {
    for (const room of ['shared', 'own'] as const) {
      if (!known.includes(factKey.source(SOURCES[room]))) await this.#perform({ kind: 'declare_source', room });
    }
    if (!this.#state.hasUser) await this.#perform({ kind: 'create_user' });
    if (!this.#state.hasClient) await this.#perform({ kind: 'register_client' });
    await this.#perform({ kind: 'push_objects', room: 'shared', objects: { first: 0, count: 1, salt: 1 } });
    await this.#perform({ kind: 'pull', room: 'shared', token: this.#state.token, objectsMax: 1 });
  }

  async run(): Promise<never> {
    for (;;) await this.#perform(drawOperation(this.#dice, this.#state));
  }

  async #perform(operation: Operation): Promise<void> {
    const { writer } = this.#state;
    const isLie = this.#isLiar && isAboutObjects(operation);
    tell({ say: 'begin', writer, operation });
    if (isLie) tell({ say: 'done', writer, answer: { kind: 'done' } });
    try {
      const answer = await performOperation(this.#tidemark, writer, operation);
      if (!isLie) tell({ say: 'done', writer, answer });
      this.#state = { ...this.#state, ...changeOf(operation, answer) };
    } catch (error) {
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      tell({ say: 'failed', writer, reason });
      process.exit(1);
    }
  }
}

/** What the writer knows of itself after an operation. */
function changeOf(operation: Operation, answer: Answer): Partial<WriterState> {
  if (answer.kind === 'page') return { token: (JSON.parse(answer.text) as { token: string }).token };
  if (operation.kind === 'create_user') return { hasUser: true };
  if (operation.kind === 'register_client') return { hasClient: true };
  return operation.kind === 'delete_user' ? { hasUser: false, hasClient: false } : {};
}

function tell(line: Line): void {
  say(line);
}

async function work(orders: WorkerOrders): Promise<void> {
  startWatchdog(LIFE_MS);
  tell({ say: 'opening' });
  const tidemark = await openTidemark(orders.folder);
  tell({ say: 'open', epoch: await tidemark.store.epoch() });
  const loops = WRITERS.map((writer) => new WriterLoop(tidemark, orders, writer));
  await loops[KEEPER]?.setUp(orders.known);
  await Promise.all(loops.map((loop) => loop.run()));
}

await work(JSON.parse(process.argv[2] ?? '') as WorkerOrders);
