import type { EngineDescription, Jobs, MovableStore } from '@tidemark/core/ports';
import { acknowledged } from './acknowledged.ts';
import { ADDRESS_RULE, type Address, readAddress, shownAddress } from './address.ts';
import { Connection, type Keyspace } from './connection.ts';
import type { ConnectionEvent } from './connection-events.ts';
import { documents } from './documents.ts';
import { assessDurability, type Durability, readSetups, unusableReason } from './durability.ts';
import { entries } from './entries.ts';
import { exportStore } from './export.ts';
import { UnusableServer } from './failure.ts';
import { fileIndex } from './file-index.ts';
import { migration } from './import.ts';
import { type ValkeyJobsOptions, valkeyJobs } from './jobs/jobs.ts';
import { journal } from './journal.ts';
import { Layout } from './layout.ts';
import { type Lifecycle, lifecycle, OpenCalls, sweepEvery } from './lifecycle.ts';
import { notes } from './notes.ts';
import { type Opening, prepareOpening } from './opening.ts';
import { ScopeAccess } from './scope-access.ts';
import { stats } from './stats.ts';
import { tidemarks } from './tidemarks.ts';
import { verifyStore } from './verify.ts';

export interface ValkeyOptions {
  /** Such as `valkey://host:6379` or `valkey+cluster://host:7000,host:7001`. */
  readonly address: string;
  /** Login and password, instead of those in the address. */
  readonly login?: string;
  readonly password?: string;
  /** Login and password at the sentinels, if the address names some. */
  readonly sentinelLogin?: string;
  readonly sentinelPassword?: string;
  /** The beginning of every key, so that several stores can share a server. */
  readonly prefix?: string;
  /** How long the server may take to reply to one command. */
  readonly answerMs?: number;
  /** Replicas that must have a write before it is acknowledged. */
  readonly confirmReplicas?: number;
  /** True: a write must be on the disk of the primary, and of those replicas, before it is acknowledged. */
  readonly isConfirmedOnDisk?: boolean;
  /** True: a store that could lose acknowledged writes is not opened. */
  readonly isDurabilityRequired?: boolean;
  /** Tombstones, or rows of statistics, that one call of `trim` or `trimStats` deletes. */
  readonly trimStepMax?: number;
  /** How often the store looks for erasures that another server began and did not finish. */
  readonly sweepEveryMs?: number;
  /** Called when the connection is lost, and when it is back. */
  readonly onEvent?: (event: ConnectionEvent) => void;
  /** Default: by a server. */
  readonly opening?: Opening;
}

export interface ValkeyStore extends MovableStore, Pick<Lifecycle, 'sweep' | 'others'> {
  /** The job queues of this store. They are as durable as the store, and a reset empties them. */
  jobs(options: ValkeyJobsOptions): Jobs;
}

export const PREFIX = 'tidemark:';
const SWEEP_EVERY_MS = 10_000;
const TRIM_STEP_MAX = 10_000;

export async function openValkeyStore(options: ValkeyOptions): Promise<ValkeyStore> {
  const [store] = await openValkeyStores(options, [options.prefix ?? PREFIX]);
  if (store === undefined) throw new Error('no store was opened');
  return store;
}

/** Opens several stores with different prefixes on one connection, which is closed with the last of them. */
export async function openValkeyStores(
  options: Omit<ValkeyOptions, 'prefix'>,
  prefixes: readonly string[],
): Promise<readonly ValkeyStore[]> {
  const { connection, engine } = await connect(options, connectionName(prefixes[0] ?? PREFIX));
  let open = prefixes.length;
  const onClose = () => {
    open -= 1;
    if (open === 0) connection.close();
  };
  const openOne = async (prefix: string) => {
    const keyspace = { connection, layout: new Layout(prefix) };
    await prepare(keyspace, options);
    return composeStore(keyspace, { engine, onClose, ...options });
  };
  try {
    return await Promise.all(prefixes.map(openOne));
  } catch (error) {
    connection.close();
    throw error;
  }
}

export interface StoreParts extends Pick<ValkeyOptions, 'opening' | 'sweepEveryMs' | 'trimStepMax'> {
  readonly engine: EngineDescription;
  readonly onClose: () => void;
}

/** Composes a store from its parts. Each method is one script or, in a cluster, one at the registry and one at a scope. */
export function composeStore(keyspace: Keyspace, parts: StoreParts): ValkeyStore {
  const { opening = { as: 'server' }, sweepEveryMs = SWEEP_EVERY_MS, trimStepMax = TRIM_STEP_MAX } = parts;
  const context = { ...keyspace, scopes: new ScopeAccess(keyspace) };
  const calls = new OpenCalls();
  const methods = calls.wrap({
    ...journal(context, trimStepMax),
    ...fileIndex(context),
    ...documents(context),
    ...entries(context),
    ...tidemarks(context),
    ...acknowledged(context),
    ...notes(context),
    ...stats(keyspace, trimStepMax),
    ...lifecycle(context, calls),
    ...migration(context, opening),
  });
  const stopSweeping = opening.as === 'server' ? sweepEvery(sweepEveryMs, methods.sweep) : () => undefined;
  return {
    engine: parts.engine,
    ...methods,
    jobs: (options) => valkeyJobs(keyspace, calls, options),
    verify: (reader) => verifyStore(context, calls, reader),
    async *export(reader) {
      // Data that is being erased is not exported.
      await methods.sweep();
      yield* exportStore(context, reader);
    },
    async close() {
      const isFirst = calls.isOpen;
      stopSweeping();
      await calls.close();
      if (isFirst) parts.onClose();
    },
  };
}

async function connect(
  options: ValkeyOptions,
  name: string,
): Promise<{ readonly connection: Connection; readonly engine: EngineDescription }> {
  const { answerMs, confirmReplicas: replicas = 0, isConfirmedOnDisk: isOnDisk = false, onEvent } = options;
  const address = addressOf(options);
  const unusable = (reason: string) =>
    new UnusableServer(`the store at ${shownAddress(options.address)} cannot be used: ${reason}`);
  const connection = await Connection.open({
    address,
    confirmation: { replicas, isOnDisk },
    name,
    ...(answerMs === undefined ? {} : { answerMs }),
    ...(onEvent === undefined ? {} : { onEvent }),
  }).catch((error: Error) => {
    throw unusable(error.message);
  });
  try {
    const setups = await readSetups(connection);
    const isClusterAddress = address.kind === 'cluster';
    const reason = unusableReason(setups, { isClusterAddress, isConfirmedOnDisk: isOnDisk });
    if (reason !== null) throw unusable(reason);
    return { connection, engine: describe(assessDurability(setups, { replicas, isOnDisk }), options) };
  } catch (error) {
    connection.close();
    throw error;
  }
}

function describe({ isDurable, details, warnings }: Durability, options: ValkeyOptions): EngineDescription {
  if (options.isDurabilityRequired === true && !isDurable) {
    throw new UnusableServer(`durability is required, but ${warnings.join('; ')}`);
  }
  return {
    name: 'valkey',
    durability: isDurable ? 'durable' : 'buffered',
    details: { address: shownAddress(options.address), ...details },
    warnings,
  };
}

/** All connections to one store have the same name. */
function connectionName(prefix: string): string {
  return `tidemark-${encodeURIComponent(prefix)}`;
}

async function prepare(keyspace: Keyspace, options: Omit<ValkeyOptions, 'prefix'>): Promise<void> {
  const problem = await prepareOpening(keyspace, options.opening ?? { as: 'server' });
  if (problem === null) return;
  const { prefix } = keyspace.layout;
  throw new UnusableServer(`the store at ${shownAddress(options.address)} with the prefix ${prefix} ${problem}`);
}

/** Address and logins, named as in the settings. */
export type ValkeyAccess = Pick<ValkeyOptions, 'address' | 'login' | 'password' | 'sentinelLogin' | 'sentinelPassword'>;

export function addressOf({ address: text, ...given }: ValkeyAccess): Address {
  const address = readAddress(text);
  if (address === null) throw new UnusableServer(`${shownAddress(text)} is no address of a store: it ${ADDRESS_RULE}`);
  const access = {
    ...address.access,
    ...(given.login === undefined ? {} : { username: given.login }),
    ...(given.password === undefined ? {} : { password: given.password }),
  };
  if (address.kind !== 'sentinel') return { ...address, access };
  const sentinelAccess = { username: given.sentinelLogin ?? null, password: given.sentinelPassword ?? null };
  return { ...address, access, sentinelAccess };
}
