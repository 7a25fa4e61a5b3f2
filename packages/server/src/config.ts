/** What the environment may say about the server. */
export interface Config {
  readonly host: string;
  /** 0 lets the system choose a free port. */
  readonly port: number;
  /** How long requests under way may take to finish once the server is to stop. */
  readonly shutdownGraceMs: number;
}

/** The configuration is wrong; the message names the setting and what it may be. */
export class ConfigProblem extends Error {
  override readonly name = 'ConfigProblem';
}

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 9292;
const PORT_MAX = 65_535;
const SHUTDOWN_GRACE_MS = 10_000;

/** An empty variable counts as unset, since that is what `TIDEMARK_PORT= npm start` and empty lines in env files mean. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  return {
    host: env.TIDEMARK_HOST || DEFAULT_HOST,
    port: readPort(env.TIDEMARK_PORT || String(DEFAULT_PORT)),
    shutdownGraceMs: SHUTDOWN_GRACE_MS,
  };
}

function readPort(text: string): number {
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= PORT_MAX) return port;
  throw new ConfigProblem(`TIDEMARK_PORT must be a whole number from 0 to ${PORT_MAX}, not ${JSON.stringify(text)}`);
}
