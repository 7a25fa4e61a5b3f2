import { type Log, refs, type Store, Tidemark, type TidemarkParts } from '@tidemark/core';
import { openPasswords } from './auth/passwords.ts';
import type { Config } from './config/config.ts';
import { BACKEND_WAIT_MS_MAX } from './limits.ts';
import { systemClock as clock, pace, random, steadyClock, wait } from './primitives/system-ports.ts';
import { readVersion } from './version.ts';

const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Opens the core on a store for commands that work without a server. */
export async function openOfflineTidemark(config: Config, store: Store): Promise<Tidemark> {
  return openTidemark(config, SILENT, { store, passwords: await openPasswords() });
}

type Connections = Pick<
  TidemarkParts,
  'store' | 'passwords' | 'server' | 'adapters' | 'jobs' | 'urlRules' | 'onWritten'
>;

/** Creates the core with its ports and settings. */
export function openTidemark(config: Config, log: Log, connections: Connections): Tidemark {
  return new Tidemark({
    ...connections,
    clock,
    steadyClock,
    random,
    pace,
    wait,
    log,
    limits: config.limits,
    fileRules: config.files,
    isResetAllowed: config.isResetAllowed,
    version: readVersion(),
    // A refresh is leased for the longest query, including the wait for a socket.
    queryMsMax: config.backend.queryTimeoutMs + BACKEND_WAIT_MS_MAX,
    pullWaitMs: config.backend.pullWaitMs,
    loginsKeptMs: config.backend.offlineLoginS * 1_000,
    statsRetentionS: config.stats.retentionS,
    activeWindowMs: config.devices.activeWindowS * 1_000,
    // Browsers subscribed with this key, so a reset keeps it.
    keptOnReset: [refs.setting('vapid')],
  });
}
