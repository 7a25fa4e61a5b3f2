import { join } from 'node:path';
import { type Objects, TidemarkClient, TidemarkError } from '@tidemark/backend';
import { ServerProcess, type TemporaryFolder, temporaryFolder } from '@tidemark/testing/kit';
import { AdminClient } from '../processes/admin-client.ts';

const ATTEMPTS_MAX = 10;
export const DEVICE_PASSWORD = 'a password for devices';

/** A partition as Tidemark has it. */
export interface StoredPartition {
  readonly head: number;
  readonly objects: Objects;
}

/** The server that the connector writes to, which can be killed. */
export class TidemarkSide {
  readonly token: string;
  readonly #folder: TemporaryFolder;
  readonly #process: ServerProcess;
  readonly #client: TidemarkClient;
  #ready: Promise<unknown> = Promise.resolve();

  private constructor(folder: TemporaryFolder, process: ServerProcess, token: string) {
    this.#folder = folder;
    this.#process = process;
    this.token = token;
    this.#client = new TidemarkClient({ url: process.url, token, retry: { attemptsMax: ATTEMPTS_MAX } });
  }

  static async open(): Promise<TidemarkSide> {
    const folder = await temporaryFolder();
    const env = { TIDEMARK_LOG_LEVEL: 'silent' };
    const process = await new ServerProcess({ folder: join(folder.path, 'server'), env }).start();
    const admin = new AdminClient(() => process.url);
    const credentials = { login: 'admin', password: process.adminPassword };
    return new TidemarkSide(folder, process, String(await admin.call('POST', '/rc/v1/system/login', credentials)));
  }

  get url(): string {
    return this.#process.url;
  }

  /** Kills the server and starts it again; the latter is not waited for. */
  async kill(): Promise<void> {
    await this.#ready;
    await this.#process.kill();
    this.#ready = this.#process.start();
    this.#ready.catch(() => undefined);
  }

  async ready(): Promise<void> {
    await this.#ready;
  }

  async createUser(login: string): Promise<void> {
    await this.#client.users.create({ login, password: DEVICE_PASSWORD });
  }

  /** The attributes of a user; null: there is none. */
  async user(login: string): Promise<Readonly<Record<string, unknown>> | null> {
    return (await nullIfMissing(this.#client.users.get(login)))?.attributes ?? null;
  }

  async groupsOf(login: string): Promise<readonly string[]> {
    return (await nullIfMissing(this.#client.groups.of(login)))?.groups ?? [];
  }

  /** Null: there is no such source, or no such user. */
  async partition(source: string, whose: Whose): Promise<StoredPartition | null> {
    const owner = { source, ...(whose ?? { shared: true as const }) } as { source: string; shared: true };
    const objects = await nullIfMissing(this.#client.documents.read(owner, 'md'));
    const list = await nullIfMissing(this.#client.documents.objects(owner, { limit: 1 }));
    if (objects === null || list === null) return list === null ? null : { head: list.head, objects: {} };
    return { head: list.head, objects: objects as Objects };
  }

  /** The state of a connector; null: it has stored none. */
  async state(document: string): Promise<string | null> {
    return (await nullIfMissing(this.#client.documents.read('server', document))) as string | null;
  }

  async close(): Promise<void> {
    await this.#ready.catch(() => undefined);
    await this.#process.kill();
    await this.#folder.remove();
  }
}

/** Null: everybody's. */
export type Whose = { readonly user: string } | { readonly group: string } | null;

async function nullIfMissing<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof TidemarkError && error.status === 404) return null;
    throw error;
  }
}
