import type { Bus, BusListener, Clock, Jobs, Log, MovableStore, Store } from '@tidemark/core';
import { errorMessage } from '@tidemark/protocol';
import { type Opening, openEmbeddedBus, openEmbeddedStore } from '@tidemark/store-embedded';
import type { ValkeyOptions, ValkeyStore } from '@tidemark/store-valkey';
import type { Config } from './config/config.ts';
import type { ServerLog } from './logging/open-log.ts';
import { systemClock as clock } from './primitives/system-ports.ts';

export type { Opening };

/** The store and the job queues of a server. */
export interface Engines {
  readonly store: Store;
  readonly jobs: Jobs;
}

/** A long time-out for commands of a migration: their portions may be large. */
const MOVING_ANSWER_MS = 60_000;

/** Opens the store as the source or the target of a migration. */
export function openMovable(config: Config, opening: Opening): Promise<MovableStore> {
  if (config.store === 'embedded') return openEmbeddedStore({ folder: config.dataFolder, opening });
  return openValkey(config, undefined, { opening, answerMs: MOVING_ANSWER_MS });
}

/** Opens the store without job queues, for commands that work on the data. */
export function openStore(config: Config): Promise<Store & { jobs(parts: { readonly clock: Clock }): Jobs }> {
  return config.store === 'embedded' ? openEmbeddedStore({ folder: config.dataFolder }) : openValkey(config);
}

/** Opens the embedded store in a folder, without job queues. */
export function openFolder(folder: string): Promise<Store> {
  return openEmbeddedStore({ folder });
}

/** `outage` is told when the store is lost, and when it is back. */
export async function openEngines(config: Config, outage?: ServerLog['outage']): Promise<Engines> {
  const store =
    config.store === 'embedded'
      ? await openEmbeddedStore({ folder: config.dataFolder })
      : await openValkey(config, outage);
  return { store, jobs: store.jobs({ clock }) };
}

/** Connects to the other servers on the same store. Returns null if that fails: the server then works alone. */
export async function openBus(config: Config, log: Log, listener: BusListener): Promise<Bus | null> {
  try {
    return config.store === 'embedded'
      ? await openEmbeddedBus({ folder: config.dataFolder }, listener)
      : await (await valkeyEngine()).openValkeyBus(valkeyAccess(config), listener);
  } catch (error) {
    log.warn('servers_not_joined', { reason: errorMessage(error) });
    return null;
  }
}

function valkeyAccess({ store, valkey: { login, password, sentinelLogin, sentinelPassword, prefix } }: Config) {
  return {
    address: store,
    prefix,
    ...(login === null ? {} : { login }),
    ...(password === null ? {} : { password }),
    ...(sentinelLogin === null ? {} : { sentinelLogin }),
    ...(sentinelPassword === null ? {} : { sentinelPassword }),
  };
}

/** Loads the Valkey engine on first use, so that a server on the embedded store starts without it. */
const valkeyEngine = () => import('@tidemark/store-valkey');

async function openValkey(
  config: Config,
  outage?: ServerLog['outage'],
  more: Partial<ValkeyOptions> = {},
): Promise<ValkeyStore> {
  const { openValkeyStore } = await valkeyEngine();
  const { isDurabilityRequired, valkey } = config;
  return openValkeyStore({
    ...valkeyAccess(config),
    answerMs: valkey.answerMs,
    confirmReplicas: valkey.confirmReplicas,
    isConfirmedOnDisk: valkey.isConfirmedOnDisk,
    isDurabilityRequired,
    ...more,
    onEvent: (event) => {
      if (event.kind === 'lost') outage?.begin(event.reason);
      if (event.kind === 'back') outage?.end(event.failures);
    },
  });
}
