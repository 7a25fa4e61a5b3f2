import { type Store, Tidemark } from '@tidemark/core';
import { Refusal, type WriteReport } from '@tidemark/protocol';
import { pullPage, pullPages, seededRandom } from '@tidemark/testing/kit';
import type { FallBack } from '../faults/fall-back.ts';
import { PLAIN_PASSWORDS, SILENT_LOG } from '../model/core-parts.ts';
import type { ModelPartition } from '../model/partition.ts';
import { callOf, keyOf } from '../model/partition.ts';
import { performWrite, type Write } from '../model/write.ts';
import { SHARED_SOURCE, USER_SOURCES } from './partitions.ts';
import type {
  PartitionStatus,
  PullRequest,
  ServerOptions,
  ServerUnderTest,
  TogetherRequest,
} from './server-under-test.ts';

/** More than the devices of a history. */
const CLIENTS_MAX = 100;

/** Returns the real core on a store. Whoever opened the store closes it. `fallBack` makes the store lose writes. */
export async function tidemarkServer(
  store: Store,
  { seed, nowMs }: ServerOptions,
  fallBack: FallBack | null = null,
): Promise<TidemarkServer> {
  const random = seededRandom(seed + 1);
  const parts = { store, clock: { nowMs }, random, passwords: PLAIN_PASSWORDS, log: SILENT_LOG };
  const server = new TidemarkServer(() => new Tidemark(parts), fallBack);
  await server.declareSources();
  return server;
}

export class TidemarkServer implements ServerUnderTest {
  readonly #start: () => Tidemark;
  readonly #fallBack: FallBack | null;
  #tidemark: Tidemark;

  constructor(start: () => Tidemark, fallBack: FallBack | null) {
    this.#start = start;
    this.#fallBack = fallBack;
    this.#tidemark = start();
  }

  async declareSources(): Promise<void> {
    for (const name of USER_SOURCES) await this.#declare(name, 'user');
    await this.#declare(SHARED_SOURCE, 'app');
  }

  write(write: Write): Promise<WriteReport> {
    return performWrite(this.#tidemark, write);
  }

  beginQuery(partition: ModelPartition): Promise<unknown> {
    return this.#tidemark.objects.head(callOf(partition));
  }

  async pull({ user, client, ...page }: PullRequest): Promise<string> {
    const { json, noted } = await pullPage(this.#tidemark, { user, client }, page);
    await noted;
    return json;
  }

  async pullTogether({ user, client, tokens, ...size }: TogetherRequest): Promise<ReadonlyMap<string, string>> {
    const { pages, noted } = await pullPages(this.#tidemark, { user, client }, tokens, size);
    await noted;
    const texts = new Map<string, string>();
    for (const [source, page] of pages) {
      if (page instanceof Refusal) throw page;
      texts.set(source, page);
    }
    return texts;
  }

  readObjects(partition: ModelPartition) {
    return this.#tidemark.objects.read(callOf(partition));
  }

  status(partition: ModelPartition): Promise<PartitionStatus> {
    return this.#tidemark.store.partition(keyOf(partition));
  }

  async trim(partition: ModelPartition, retentionMs: number): Promise<void> {
    await this.#tidemark.objects.trim({ ...callOf(partition), retentionMs });
  }

  async forceTrim(partition: ModelPartition, upTo: number): Promise<void> {
    await this.#tidemark.store.trim(keyOf(partition), upTo);
  }

  async createUser(login: string): Promise<void> {
    await this.#tidemark.users.create({ attributes: { login, password: 'open sesame' } });
  }

  async deleteUser(login: string): Promise<void> {
    await this.#tidemark.users.delete(login);
  }

  async registerClient(login: string, client: string): Promise<void> {
    await this.#tidemark.clients.register(login, { client_id: client });
  }

  async deleteClient(login: string, client: string): Promise<void> {
    await this.#tidemark.clients.delete(login, client);
  }

  async behind({ source, user }: ModelPartition): Promise<ReadonlyMap<string, number | null>> {
    const found = new Map<string, number | null>();
    for (let after: string | null | undefined; after !== null; ) {
      const call = { source, limit: 2, ...(user === null ? {} : { user_id: user }) };
      const receipt = await this.#tidemark.receipts.read({ ...call, ...(after === undefined ? {} : { after }) });
      for (const { client_id, acknowledged } of receipt.behind_devices) found.set(client_id, acknowledged);
      after = receipt.next;
    }
    return found;
  }

  async outdateTidemarks(partition: ModelPartition): Promise<readonly string[]> {
    const { store } = this.#tidemark;
    const marks = await store.listTidemarks(keyOf(partition), { limit: CLIENTS_MAX });
    for (const mark of marks)
      await store.noteTidemark(keyOf(partition), { ...mark, epoch: `before-${mark.epoch}` }, []);
    // A backup is restored while no server runs, so the next one remembers no tidemarks.
    this.#tidemark = this.#start();
    return marks.map(({ client }) => client);
  }

  async verdict(client: string, source: string, object: string): Promise<string> {
    return (await this.#tidemark.delivery.explain(client, source, object)).verdict;
  }

  async verify(): Promise<readonly string[]> {
    const findings: string[] = [];
    for await (const finding of this.#tidemark.verify()) findings.push(JSON.stringify(finding));
    return findings;
  }

  async keepState(): Promise<boolean> {
    await this.#fallBack?.keep();
    return this.#fallBack !== null;
  }

  async fallBack(): Promise<boolean> {
    return (await this.#fallBack?.fallBack()) ?? false;
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
