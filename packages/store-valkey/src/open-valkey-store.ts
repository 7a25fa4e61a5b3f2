import type { EngineDescription } from '@tidemark/core/ports';
import { ADDRESS_RULE, type Address, readAddress, shownAddress } from './address.ts';
import { type Durability, judge, readSetups, unfitness } from './durability.ts';
import { UnusableServer } from './failure.ts';
import { Layout } from './layout.ts';
import { Link, type LinkEvent } from './link.ts';
import { type Opening, prepareLife } from './opening.ts';
import { type Ground, ValkeyStore } from './valkey-store.ts';

export interface ValkeyOptions {
  /** Such as `valkey://host:6379` or `valkey+cluster://host:7000,host:7001`. */
  readonly address: string;
  /** Over what the address says. */
  readonly login?: string;
  readonly password?: string;
  /** For the sentinels, where the address names some. */
  readonly sentinelLogin?: string;
  readonly sentinelPassword?: string;
  /** Begins every key, so that several stores may share a server. */
  readonly prefix?: string;
  /** How long the server may take to answer one step. */
  readonly answerMs?: number;
  /** Replicas that must have a write before it is acknowledged. */
  readonly confirmReplicas?: number;
  /** Whether a write must be on the disk of the primary, and of those replicas, before it is acknowledged. */
  readonly isConfirmedOnDisk?: boolean;
  /** Refuses to open a store that could lose what it has acknowledged. */
  readonly isDurabilityRequired?: boolean;
  /** Tombstones, or rows of statistics, forgotten in one step. */
  readonly trimStepMax?: number;
  /** How often erasures that somebody else began and did not finish are looked for. */
  readonly sweepEveryMs?: number;
  /** Told of connections lost and found again. */
  readonly onEvent?: (event: LinkEvent) => void;
  /** Absent: as a server does. */
  readonly opening?: Opening;
}

export const PREFIX = 'tidemark:';
const SWEEP_EVERY_MS = 10_000;
const TRIM_STEP_MAX = 10_000;

export async function openValkeyStore(options: ValkeyOptions): Promise<ValkeyStore> {
  const [store] = await openValkeyStores(options, [options.prefix ?? PREFIX]);
  if (store === undefined) throw new Error('no store was opened');
  return store;
}

/**
 * Several stores that share one connection, each with a prefix of its own: what they ask at once travels together. The
 * connection ends with the last of them.
 */
export async function openValkeyStores(
  options: Omit<ValkeyOptions, 'prefix'>,
  prefixes: readonly string[],
): Promise<readonly ValkeyStore[]> {
  const { link, engine } = await openGround(options, connectionName(prefixes[0] ?? PREFIX));
  let open = prefixes.length;
  const release = () => {
    open -= 1;
    if (open === 0) link.close();
  };
  try {
    return await Promise.all(prefixes.map((prefix) => storeOn({ link, engine, release }, new Layout(prefix), options)));
  } catch (error) {
    link.close();
    throw error;
  }
}

async function storeOn(ground: Ground, layout: Layout, options: Omit<ValkeyOptions, 'prefix'>): Promise<ValkeyStore> {
  await prepare(ground.link, layout, options);
  const { opening = { as: 'server' }, sweepEveryMs = SWEEP_EVERY_MS, trimStepMax = TRIM_STEP_MAX } = options;
  const store = new ValkeyStore(ground, layout, { trimStepMax, opening });
  if (opening.as === 'server') store.sweepEvery(sweepEveryMs);
  return store;
}

async function openGround(options: ValkeyOptions, name: string): Promise<Omit<Ground, 'release'>> {
  const { answerMs, confirmReplicas: replicas = 0, isConfirmedOnDisk: isOnDisk = false, onEvent } = options;
  const address = addressOf(options);
  const unusable = (reason: string) =>
    new UnusableServer(`the store at ${shownAddress(options.address)} cannot be used: ${reason}`);
  const link = await Link.open({
    address,
    confirmation: { replicas, isOnDisk },
    name,
    ...(answerMs === undefined ? {} : { answerMs }),
    ...(onEvent === undefined ? {} : { onEvent }),
  }).catch((error: Error) => {
    throw unusable(error.message);
  });
  try {
    const setups = await readSetups(link);
    const reason = unfitness(setups, { isClusterAddress: address.kind === 'cluster', isConfirmedOnDisk: isOnDisk });
    if (reason !== null) throw unusable(reason);
    return { link, engine: descriptionOf(judge(setups, { replicas, isOnDisk }), options) };
  } catch (error) {
    link.close();
    throw error;
  }
}

function descriptionOf({ isDurable, details, warnings }: Durability, options: ValkeyOptions): EngineDescription {
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

/** By which the connections of all who use one store are told from others. */
function connectionName(prefix: string): string {
  return `tidemark-${encodeURIComponent(prefix)}`;
}

async function prepare(link: Link, layout: Layout, options: Omit<ValkeyOptions, 'prefix'>): Promise<void> {
  const problem = await prepareLife(link, layout, options.opening ?? { as: 'server' });
  if (problem === null) return;
  throw new UnusableServer(`the store at ${shownAddress(options.address)} with the prefix ${layout.prefix} ${problem}`);
}

/** How to get in, in the words of the settings. */
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
