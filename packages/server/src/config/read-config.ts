import type { Config } from './config.ts';
import { loadConfig } from './load-config.ts';
import type { Environment } from './read-environment.ts';
import type { Flags } from './read-flags.ts';

/** Returns the configuration without the origins of its values. Throws a `ConfigProblem`. */
export function readConfig(env: Environment, flags?: Flags): Config {
  return loadConfig(flags === undefined ? { env } : { env, flags }).config;
}
