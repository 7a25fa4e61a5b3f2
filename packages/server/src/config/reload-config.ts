import { isDeepStrictEqual } from 'node:util';
import type { Log } from '@tidemark/core';
import type { Config, RequestLogRules } from './config.ts';
import type { LoadedConfig } from './load-config.ts';

/** The log of the server, with what changes while it runs. */
interface ReloadableLog extends Pick<Log, 'warn' | 'error'> {
  readonly logger: { level: string };
  readonly requests: { configure(rules: RequestLogRules): void };
}

/** Settings that can change while the server runs. All others are read at the start. */
const RELOADABLE: ReadonlySet<string> = new Set(['log_level', 'log.requests', 'log.slow_request_ms', 'connectors']);

/**
 * Reads the configuration again on SIGHUP. The settings of the log change at once, and so do connectors, by
 * `configureConnectors`; the names of other changed settings are logged, because they need a restart. An invalid configuration changes nothing. Returns the configuration to compare
 * with the next time.
 */
export function reloadConfig(
  current: LoadedConfig,
  load: () => LoadedConfig,
  log: ReloadableLog,
  configureConnectors: (connectors: Config['connectors']) => void = () => undefined,
): LoadedConfig {
  let next: LoadedConfig;
  try {
    next = load();
  } catch (error) {
    log.error('config_not_reloaded', { detail: (error as Error).message });
    return current;
  }
  const before = new Map(current.values.map(({ setting, value }) => [setting.name, value]));
  const changed = next.values.filter(({ setting, value }) => !isDeepStrictEqual(before.get(setting.name), value));
  const names = changed.map(({ setting }) => setting.name);
  log.logger.level = next.config.logLevel;
  log.requests.configure(next.config.requestLog);
  // Also when the setting is the same: a mapping or an address may have changed in its file.
  configureConnectors(next.config.connectors);
  log.warn('config_reloaded', {
    changed: names.filter((name) => RELOADABLE.has(name)).join(', '),
    needs_restart: names.filter((name) => !RELOADABLE.has(name)).join(', '),
  });
  return {
    ...current,
    values: current.values.map((old) => (RELOADABLE.has(old.setting.name) ? valueIn(next, old) : old)),
  };
}

function valueIn({ values }: LoadedConfig, old: LoadedConfig['values'][number]): LoadedConfig['values'][number] {
  return values.find(({ setting }) => setting.name === old.setting.name) ?? old;
}
