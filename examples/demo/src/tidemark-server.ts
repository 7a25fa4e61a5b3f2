import { once } from 'node:events';
import { startTidemark, type TidemarkProcess } from '@tidemark/example-field-service';

export type ServerState = 'running' | 'killed' | 'starting';

/** Tidemark in a process of its own, which the page kills and starts again. */
export class TidemarkServer {
  readonly url: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #listeners = new Set<() => void>();
  #process: TidemarkProcess;
  #state: ServerState = 'running';

  private constructor(env: Readonly<Record<string, string>>, process: TidemarkProcess) {
    this.#env = env;
    this.#process = process;
    this.url = process.url;
    this.#watch();
  }

  static async start(settings: Readonly<Record<string, string>>): Promise<TidemarkServer> {
    const env = { TIDEMARK_HOST: '127.0.0.1', TIDEMARK_LOG_LEVEL: 'error', ...settings };
    return new TidemarkServer(env, await startTidemark({ ...env, TIDEMARK_PORT: '0' }));
  }

  get state(): ServerState {
    return this.#state;
  }

  /** Returns the unsubscribe function. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** SIGKILL: the process cannot finish, flush or say anything. What it has acknowledged is on the disk. */
  async kill(): Promise<void> {
    if (this.#state !== 'running') return;
    const { child } = this.#process;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  /** Starts it again, on the same data and the same port. */
  async restart(): Promise<void> {
    if (this.#state !== 'killed') return;
    this.#set('starting');
    try {
      this.#process = await startTidemark({ ...this.#env, TIDEMARK_PORT: new URL(this.url).port });
    } catch (error) {
      this.#set('killed');
      throw error;
    }
    this.#watch();
    this.#set('running');
  }

  async stop(): Promise<void> {
    await this.#process.stop();
  }

  #watch(): void {
    this.#process.child.once('exit', () => this.#set('killed'));
  }

  #set(state: ServerState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}
