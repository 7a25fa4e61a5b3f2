import { type DeviceCopy, ModelDevice } from '../model/device.ts';
import { Oracle } from '../model/oracle.ts';
import type { OracleState } from '../model/oracle-state.ts';
import type { ModelPartition } from '../model/partition.ts';
import { partitionText } from '../model/partition.ts';
import type { Query } from '../model/write.ts';
import { Network } from './network.ts';
import { PARTITIONS, SHARED_SOURCE } from './partitions.ts';
import type { PartitionStatus, ServerUnderTest } from './server-under-test.ts';
import type { DeviceSpec, SyncHistory } from './step.ts';
import { TokenLedger } from './token-ledger.ts';

/** A query that the backend is answering. */
export interface QueryInFlight extends Query {
  readonly partition: ModelPartition;
  /** md as the backend saw it when the query began; writes since then are not in its answer. */
  readonly seen: OracleState['objects'];
  readonly floor: number;
  readonly generation: string;
}

/** A device with its network and its backups. */
export interface SimulatedDevice {
  readonly spec: DeviceSpec;
  readonly partition: ModelPartition;
  readonly model: ModelDevice;
  readonly network: Network;
  /** Backups of the device that a later step may restore. */
  readonly copies: DeviceCopy[];
}

export interface SimulatedClock {
  nowMs: number;
}

/** Everything that one run of a history works on. */
export class HistoryRun {
  readonly server: ServerUnderTest;
  readonly clock: SimulatedClock;
  readonly oracle = new Oracle();
  readonly tokens = new TokenLedger();
  readonly devices: readonly SimulatedDevice[];
  readonly #written = new Map<string, ModelPartition>();
  readonly #statuses = new Map<string, PartitionStatus>();
  /** The states of all partitions that the store may fall back to. */
  #kept: ReadonlyMap<ModelPartition, OracleState> = new Map();
  #queries: QueryInFlight[] = [];

  constructor(server: ServerUnderTest, clock: SimulatedClock, history: SyncHistory) {
    this.server = server;
    this.clock = clock;
    this.devices = history.devices.map((spec) => ({
      spec,
      partition: partitionOf(spec),
      model: new ModelDevice(),
      network: new Network(),
      copies: [],
    }));
  }

  device(index: number): SimulatedDevice {
    const device = this.devices[index % this.devices.length];
    if (device === undefined) throw new Error('a history needs at least one device');
    return device;
  }

  /** Creates a user and registers the user's devices. */
  async createUser(login: string): Promise<void> {
    await this.server.createUser(login);
    await this.registerDevices(login);
  }

  async registerDevices(login: string): Promise<void> {
    const clients = this.devices.filter(({ spec }) => spec.user === login).map(({ spec }) => spec.client);
    for (const client of new Set(clients)) await this.server.registerClient(login, client);
  }

  markWritten(partition: ModelPartition): void {
    this.#written.set(partitionText(partition), partition);
    this.forgetStatus(partition);
  }

  /** Returns the status of a partition. The server is asked only when something happened there since the last time. */
  async status(partition: ModelPartition): Promise<PartitionStatus> {
    const known = this.#statuses.get(partitionText(partition));
    if (known !== undefined) return known;
    const status = await this.server.status(partition);
    this.#statuses.set(partitionText(partition), status);
    return status;
  }

  forgetStatus(partition: ModelPartition): void {
    this.#statuses.delete(partitionText(partition));
  }

  /** Returns the partitions whose md may have changed since the last call. */
  takeWritten(): ModelPartition[] {
    const partitions = [...this.#written.values()];
    this.#written.clear();
    return partitions;
  }

  addQuery(query: QueryInFlight): void {
    this.#queries.push(query);
  }

  /** Removes one of the open queries of a partition and returns it. */
  takeQuery(partition: ModelPartition, pick: number): QueryInFlight | undefined {
    const candidates = this.#queries.filter((query) => isSamePartition(query.partition, partition));
    const query = candidates[pick % Math.max(1, candidates.length)];
    this.#queries = this.#queries.filter((other) => other !== query);
    return query;
  }

  dropQueries(partition: ModelPartition): void {
    this.#queries = this.#queries.filter((query) => !isSamePartition(query.partition, partition));
  }

  /** Keeps the present states, for `fallBack`. */
  keepStates(): void {
    this.#kept = new Map(PARTITIONS.map((partition) => [partition, this.oracle.state(partition)]));
  }

  /** Records that all writes since `keepStates` are lost. */
  fallBack(): void {
    for (const [partition, state] of this.#kept) {
      this.oracle.advance(partition, [state]);
      this.tokens.fallBack(partition, state.time);
      this.dropQueries(partition);
      this.markWritten(partition);
    }
  }

  /** Records that the partition was deleted. Its queries stay open. */
  beginGeneration(partition: ModelPartition): void {
    this.oracle.beginGeneration(partition);
    this.tokens.forgetPartition(partition);
    this.markWritten(partition);
  }
}

function isSamePartition(left: ModelPartition, right: ModelPartition): boolean {
  return partitionText(left) === partitionText(right);
}

function partitionOf({ source, user }: DeviceSpec): ModelPartition {
  const wanted = partitionText({ source, user: source === SHARED_SOURCE ? null : user });
  const partition = PARTITIONS.find((candidate) => partitionText(candidate) === wanted);
  if (partition === undefined) throw new Error(`no such partition: ${wanted}`);
  return partition;
}
