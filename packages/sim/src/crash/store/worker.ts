import type { Tidemark } from '@tidemark/core';
import { Rng, seededRandom } from '@tidemark/testing/kit';
import { runAsWorker, writeLine } from '../../processes/worker.ts';
import { drawOperation, type WriterState } from './draw-operation.ts';
import { factKey } from './facts.ts';
import type { Line, WorkerOptions } from './line.ts';
import { clientOf, loginOf, SETUP_WRITER, SOURCES, WRITERS } from './names.ts';
import { openTidemark } from './open-tidemark.ts';
import { type Answer, isAboutObjects, type Operation } from './operation.ts';
import { performOperation } from './perform-operation.ts';

const LIFE_MS = 600_000;

class WriterLoop {
  readonly #tidemark: Tidemark;
  readonly #rng: Rng;
  readonly #acknowledgesEarly: boolean;
  #state: WriterState;

  constructor(tidemark: Tidemark, options: WorkerOptions, writer: number) {
    this.#tidemark = tidemark;
    this.#rng = new Rng(seededRandom(options.seed * WRITERS.length + writer));
    this.#acknowledgesEarly = options.acknowledgesEarly;
    this.#state = {
      writer,
      hasUser: options.knownKeys.includes(factKey.user(loginOf(writer))),
      hasClient: options.knownKeys.includes(factKey.client(clientOf(writer))),
      token: options.tokens[writer] ?? null,
      batchPercent: options.batchPercent,
    };
  }

  /**
   * Creates what all writers need: the sources, an object in the shared partition, and a tidemark of the device that
   * pulls from it. From then on that tidemark limits every trim of the shared partition.
   */
  async setUp(knownKeys: readonly string[]): Promise<void> {
    for (const target of ['shared', 'own'] as const) {
      if (!knownKeys.includes(factKey.source(SOURCES[target]))) await this.#perform({ kind: 'declare_source', target });
    }
    if (!this.#state.hasUser) await this.#perform({ kind: 'create_user' });
    if (!this.#state.hasClient) await this.#perform({ kind: 'register_client' });
    await this.#perform({ kind: 'push_objects', target: 'shared', objects: { first: 0, count: 1, seed: 1 } });
    await this.#perform({ kind: 'pull', target: 'shared', token: this.#state.token, objectsMax: 1 });
  }

  async run(): Promise<never> {
    for (;;) await this.#perform(drawOperation(this.#rng, this.#state));
  }

  async #perform(operation: Operation): Promise<void> {
    const { writer } = this.#state;
    const isEarly = this.#acknowledgesEarly && isAboutObjects(operation);
    report({ say: 'begin', writer, operation });
    if (isEarly) report({ say: 'done', writer, answer: { kind: 'done' } });
    const answer = await performOperation(this.#tidemark, writer, operation);
    if (!isEarly) report({ say: 'done', writer, answer });
    this.#state = { ...this.#state, ...changeOf(operation, answer) };
  }
}

/** Returns what an operation changes in the state of its writer. */
function changeOf(operation: Operation, answer: Answer): Partial<WriterState> {
  if (answer.kind === 'page') return { token: (JSON.parse(answer.text) as { token: string }).token };
  if (operation.kind === 'create_user') return { hasUser: true };
  if (operation.kind === 'register_client') return { hasClient: true };
  return operation.kind === 'delete_user' ? { hasUser: false, hasClient: false } : {};
}

function report(line: Line): void {
  writeLine(line);
}

/** The process that is killed. Its writers perform random operations and report them until then. */
async function work(options: WorkerOptions): Promise<void> {
  report({ say: 'opening' });
  const tidemark = await openTidemark(options.folder);
  report({ say: 'open', epoch: await tidemark.store.epoch() });
  const loops = WRITERS.map((writer) => new WriterLoop(tidemark, options, writer));
  await loops[SETUP_WRITER]?.setUp(options.knownKeys);
  await Promise.all(loops.map((loop) => loop.run()));
}

await runAsWorker(LIFE_MS, work);
