import type { TidemarkClient } from '@tidemark/backend';
import type { Transport } from '@tidemark/backend/transport';
import type { Environment } from '@tidemark/server/config/read-environment';
import type { Command } from 'commander';
import { type ApiOptions, openApi, openTransport, withFailures } from './api-client.ts';
import { CliFailure, EXIT, usageFailure } from './cli-failure.ts';
import { Credentials, DEFAULT_URL, isExposed, serverUrl } from './credentials.ts';
import { Printer } from './printer.ts';
import type { Terminal } from './terminal.ts';

/** The options that all commands share. */
export interface GlobalOptions {
  readonly url?: string;
  readonly json?: boolean;
  readonly timeout?: string;
}

/** What a command needs to call a server. */
export interface Session {
  readonly url: string;
  readonly api: TidemarkClient;
  readonly print: Printer;
  readonly timeoutMs: number;
}

export type CommandAction<A extends unknown[]> = (session: Session, ...args: A) => Promise<void>;

const TIMEOUT_S = 60;
const TIMEOUT_S_MAX = 86_400;

/** What all commands share: the terminal, the environment, the stored tokens. */
export class Cli {
  readonly terminal: Terminal;
  readonly env: Environment;
  /** The working folder. */
  readonly folder: string;
  readonly credentials: Credentials;

  constructor(terminal: Terminal, env: Environment, folder: string) {
    this.terminal = terminal;
    this.env = env;
    this.folder = folder;
    this.credentials = new Credentials(env);
  }

  printer(command: Command): Printer {
    return new Printer(this.terminal, command.optsWithGlobals<GlobalOptions>().json === true);
  }

  url(command: Command): string {
    return serverUrl(command.optsWithGlobals<GlobalOptions>().url ?? (this.env.TIDEMARK_URL || DEFAULT_URL));
  }

  /** A session with this token; null: with none, for login. */
  bearer(command: Command, token: string | null): Session {
    const options = this.#apiOptions(command, token);
    return { ...options, api: openApi(options), print: this.printer(command) };
  }

  /** For the routes of the server outside its API. */
  transport(command: Command, token: string | null): Transport {
    return openTransport(this.#apiOptions(command, token));
  }

  #apiOptions(command: Command, token: string | null): ApiOptions {
    return { url: this.url(command), token, timeoutMs: timeoutMs(command) };
  }

  /** A session with the token of the environment, or with the one that `tidemark login` stored for this server. */
  session(command: Command): Session {
    const url = this.url(command);
    const token = this.token(url);
    if (token === null) {
      throw new CliFailure(`there is no token for ${url}`, {
        exitCode: EXIT.notAllowed,
        hint: `log in with tidemark login --url ${url}, or set TIDEMARK_TOKEN`,
      });
    }
    if (isExposed(url)) this.terminal.say(`warning: the token is sent to ${url} unencrypted; use https`);
    return this.bearer(command, token);
  }

  token(url: string): string | null {
    return this.env.TIDEMARK_TOKEN || (this.credentials.find(url)?.token ?? null);
  }

  /** Wraps the action of a command that calls a server. */
  remote<A extends unknown[]>(act: CommandAction<A>): (...args: [...A, Command]) => Promise<void> {
    return async (...args) => {
      const command = args.at(-1) as Command;
      const session = this.session(command);
      await withFailures(session, () => act(session, ...(args.slice(0, -1) as A)));
    };
  }
}

export function timeoutMs(command: Command): number {
  const { timeout } = command.optsWithGlobals<GlobalOptions>();
  if (timeout === undefined) return TIMEOUT_S * 1_000;
  const seconds = Number(timeout);
  if (seconds > 0 && seconds <= TIMEOUT_S_MAX) return seconds * 1_000;
  throw usageFailure(`--timeout must be a number of seconds up to ${TIMEOUT_S_MAX}, not ${JSON.stringify(timeout)}`);
}
