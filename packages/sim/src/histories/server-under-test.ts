import type { PartitionState } from '@tidemark/core';
import type { WriteReport } from '@tidemark/protocol';
import type { ModelPartition } from '../model/partition.ts';
import type { ObjectsGiven, Write } from '../model/write.ts';
import type { PageSize } from './step.ts';

/** What a simulation needs of a server. It throws a `Refusal` to say no; anything else that it throws is a bug. */
export interface ServerUnderTest {
  write(write: Write): Promise<WriteReport>;
  /** Returns what the server must get back with the answer of the query. */
  beginQuery(partition: ModelPartition): Promise<unknown>;
  /** Returns the text of the page. */
  pull(pull: PullRequest): Promise<string>;
  /** Pulls several sources in one call. Returns the texts of the pages by source. */
  pullTogether(pull: TogetherRequest): Promise<ReadonlyMap<string, string>>;
  readObjects(partition: ModelPartition): Promise<ReadonlyMap<string, ObjectsGiven[string]>>;
  status(partition: ModelPartition): Promise<PartitionStatus>;
  trim(partition: ModelPartition, retentionMs: number): Promise<void>;
  /** Trims tombstones up to a seq, even if a device still needs them. */
  forceTrim(partition: ModelPartition, upTo: number): Promise<void>;
  createUser(login: string): Promise<void>;
  deleteUser(login: string): Promise<void>;
  registerClient(login: string, client: string): Promise<void>;
  deleteClient(login: string, client: string): Promise<void>;
  /** Which devices have not acknowledged the head: client → what they have acknowledged, null for nothing. */
  behind(partition: ModelPartition): Promise<ReadonlyMap<string, number | null>>;
  /** Gives all tidemarks of a partition another epoch. Returns their clients. */
  outdateTidemarks(partition: ModelPartition): Promise<readonly string[]>;
  /** The verdict about an object on a device. */
  verdict(client: string, source: string, object: string): Promise<string>;
  /** Returns the findings of the store's own check. */
  verify(): Promise<readonly string[]>;
  /** Keeps the present state of the store, for `fallBack`. Returns false when this engine cannot. */
  keepState(): Promise<boolean>;
  /** Loses all writes since the last `keepState`. Returns false when there was none. */
  fallBack(): Promise<boolean>;
  /** Empties the store and declares the sources again. */
  reset(): Promise<void>;
}

export interface PullRequest extends PageSize {
  readonly source: string;
  readonly user: string;
  readonly client: string;
  readonly token: string | null;
}

export interface TogetherRequest extends PageSize {
  readonly user: string;
  readonly client: string;
  /** By source. */
  readonly tokens: ReadonlyMap<string, string | null>;
}

export type PartitionStatus = Pick<PartitionState, 'head' | 'floor' | 'size' | 'checksum'>;

export interface ServerOptions {
  readonly seed: number;
  readonly nowMs: () => number;
  /** Returns a number for each step, from which an engine may draw how promptly it answers. */
  readonly delaySeed: () => number;
}

/** Makes a server with the sources declared and no users. */
export type MakeServer = (options: ServerOptions) => Promise<ServerUnderTest>;
