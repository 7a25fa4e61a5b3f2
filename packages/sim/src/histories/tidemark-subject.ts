import { type Log, type Passwords, type SeenState, type Store, Tidemark, type WriteCall } from '@tidemark/core';
import { Refusal, type WriteReport } from '@tidemark/protocol';
import { seededRandom } from '@tidemark/testing/kit';
import { type Place, SHARED_SOURCE, USER_SOURCES } from './place.ts';
import type { Write } from './step.ts';
import type { PullRequest, Subject, SubjectState, SubjectSurroundings } from './subject.ts';

/** Simulated users have no secrets; hashing would only take time, and take it off the microtask queue. */
const passwords: Passwords = {
  hash: async (password) => `plain ${password}`,
  verify: async (password, hash) => hash === `plain ${password}`,
  isOutdated: () => false,
};

const silent = () => undefined;
const log: Log = { debug: silent, info: silent, warn: silent, error: silent };

/** The real server on a store; closing the store is left to whoever opened it. */
export async function tidemarkSubject(store: Store, { seed, nowMs }: SubjectSurroundings): Promise<TidemarkSubject> {
  const random = seededRandom(seed + 1);
  const subject = new TidemarkSubject(new Tidemark({ store, clock: { nowMs }, random, passwords, log }));
  await subject.declareSources();
  return subject;
}

export class TidemarkSubject implements Subject {
  readonly #tidemark: Tidemark;

  constructor(tidemark: Tidemark) {
    this.#tidemark = tidemark;
  }

  async declareSources(): Promise<void> {
    for (const name of USER_SOURCES) await this.#declare(name, 'user');
    await this.#declare(SHARED_SOURCE, 'app');
  }

  write(write: Write): Promise<WriteReport> {
    const call = callOf(write.place);
    switch (write.kind) {
      case 'push_objects':
        return this.#tidemark.pushObjects({ ...call, objects: write.objects });
      case 'push_deletes':
        return this.#tidemark.pushDeletes({ ...call, objects: write.ids });
      case 'fast_insert':
        return this.#tidemark.fastInsert({ ...call, objects: write.objects });
      case 'fast_update':
        return this.#tidemark.fastUpdate({ ...call, delete_data: write.deleteData, data: write.data });
      case 'fast_delete':
        return this.#tidemark.fastDelete({ ...call, data: write.data });
      case 'replace':
        return this.#tidemark.replaceObjects({
          ...call,
          objects: write.objects,
          since: (write.query?.since ?? null) as SeenState | null,
        });
    }
  }

  beginQuery(place: Place): Promise<unknown> {
    return this.#tidemark.head(callOf(place));
  }

  async pull({ source, user, ...rest }: PullRequest): Promise<string> {
    const { json, noted } = await this.#tidemark.pull({ source, user_id: user, ...rest });
    await noted;
    return json;
  }

  readObjects(place: Place) {
    return this.#tidemark.readObjects(callOf(place));
  }

  state({ source, user }: Place): Promise<SubjectState> {
    return this.#tidemark.store.partition({ source, user });
  }

  async trim(place: Place, retentionMs: number): Promise<void> {
    await this.#tidemark.trim({ ...callOf(place), retentionMs });
  }

  async trimBrutally({ source, user }: Place, upTo: number): Promise<void> {
    await this.#tidemark.store.trim({ source, user }, upTo);
  }

  async createUser(login: string, clients: readonly string[]): Promise<void> {
    await this.#tidemark.users.create({ attributes: { login, password: 'open sesame' } });
    for (const client of clients) await this.#tidemark.clients.register(login, { client_id: client });
  }

  async deleteUser(login: string): Promise<void> {
    await this.#tidemark.users.delete(login);
  }

  async forgetClient(login: string, client: string): Promise<void> {
    await this.#tidemark.clients.delete(login, client);
    await this.#tidemark.clients.register(login, { client_id: client });
  }

  async verify(): Promise<readonly string[]> {
    const findings: string[] = [];
    for await (const finding of this.#tidemark.verify()) findings.push(JSON.stringify(finding));
    return findings;
  }

  async reset(): Promise<void> {
    await this.#tidemark.system.reset({});
    await this.declareSources();
  }

  async #declare(name: string, partitionType: 'app' | 'user'): Promise<void> {
    try {
      await this.#tidemark.sources.declare({ name, partition_type: partitionType });
    } catch (error) {
      if (!(error instanceof Refusal && error.code === 'source_exists')) throw error;
    }
  }
}

/** Whoever writes shared data need not say who they are. */
function callOf({ source, user }: Place): WriteCall {
  return user === null ? { source } : { source, user_id: user };
}
