import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  checkDatabase,
  type DatabaseAddress,
  type Finding,
  loadWriteHooks,
  type Mapping,
  type WriteHook,
  writeMapping,
} from '@tidemark/postgres';
import { errorMessage } from '@tidemark/protocol';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure, EXIT, usageFailure } from '../cli-failure.ts';
import { commandGroup, examples } from '../examples.ts';
import {
  addressOf,
  catalogueOf,
  MAPPING_FILE,
  mappingOf,
  reached,
  secretOf,
  URL_VARIABLE,
} from '../local/postgres-database.ts';
import { type ListenAddress, runConnector } from '../local/run-connector.ts';

const NAME = 'postgres';
const SECRET_VARIABLE = 'TIDEMARK_BACKEND_SECRET';

interface PostgresOptions {
  readonly mapping: string;
  readonly urlEnv: string;
  readonly name: string;
  readonly listen?: string;
  readonly init?: boolean;
  readonly check?: boolean;
}

export function addConnect(program: Command, cli: Cli): void {
  const lines = ['tidemark connect postgres --init', 'tidemark connect postgres --check', 'tidemark connect postgres'];
  const connect = commandGroup(program, 'connect', 'Connect a database', ...lines);
  connect
    .command('postgres')
    .description('Connect a Postgres database: its rows become objects of sources, until the command is ended')
    .addHelpText('before', examples(...lines, 'tidemark connect postgres --check --mapping depots.jsonc --json'))
    .option('--mapping <file>', 'the file that says which tables become which sources', MAPPING_FILE)
    .option(
      '--url-env <name>',
      'the variable with the address of the database; with _FILE, that of a file with it',
      URL_VARIABLE,
    )
    .option('--name <name>', 'the name under which Tidemark keeps how far the connection is', NAME)
    .option('--listen <address>', 'where Tidemark reaches it with what devices change, such as 127.0.0.1:9300')
    .option('--init', 'write a first mapping from the tables of the database')
    .option('--check', 'print everything that is missing in the database, with the SQL that mends it')
    .action((options: PostgresOptions, self: Command) => connectPostgres(cli, options, self));
}

async function connectPostgres(cli: Cli, options: PostgresOptions, command: Command): Promise<void> {
  if (options.init === true && options.check === true) throw usageFailure('say either --init or --check');
  const address = addressOf(cli, options.urlEnv);
  const file = resolve(cli.folder, options.mapping);
  if (options.init === true) return init(cli, address, { file, shown: options.mapping });
  const mapping = mappingOf(file, options.mapping);
  if (options.check === true) return check(cli, command, { address, mapping, shown: options.mapping });
  const { url, print } = cli.session(command);
  const { name, mapping: mappingFile } = options;
  const listen = options.listen === undefined ? null : listenAddress(options.listen);
  const secret = cli.env[SECRET_VARIABLE] || secretOf(cli, `${SECRET_VARIABLE}_FILE`);
  const hooks = listen === null ? {} : await loadHooks(file, mapping);
  const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  const token = cli.token(url) ?? '';
  const writing = listen === null ? null : { listen, secret, hooks };
  await runConnector(cli, { url, token, name, address, mapping, mappingFile, print, stopped, writing });
}

/** Without a host, only this machine reaches it. */
function listenAddress(text: string): ListenAddress {
  const match = /^(?:(?<host>[^:]+|\[[^\]]+\]):)?(?<port>\d{1,5})$/.exec(text);
  const port = Number(match?.groups?.port);
  if (match === null || port > 65_535) {
    throw usageFailure(`--listen: "${text}" is no address`, 'write host and port, such as 127.0.0.1:9300');
  }
  return { host: match.groups?.host?.replace(/^\[|\]$/g, '') ?? '127.0.0.1', port };
}

async function loadHooks(file: string, mapping: Mapping): Promise<Readonly<Record<string, WriteHook>>> {
  try {
    return await loadWriteHooks(mapping, dirname(file));
  } catch (error) {
    throw new CliFailure(errorMessage(error), { exitCode: EXIT.config });
  }
}

async function init(
  cli: Cli,
  address: DatabaseAddress,
  { file, shown }: { readonly file: string; readonly shown: string },
) {
  if (existsSync(file)) throw usageFailure(`${shown} exists already`, 'name another file with --mapping, or remove it');
  const catalogue = await catalogueOf(address);
  // Not over a file that someone has written meanwhile.
  writeFileSync(file, writeMapping(catalogue), { flag: 'wx' });
  cli.terminal.say(
    `Wrote ${shown}. Decide about every "owner" in it, then run: tidemark connect postgres --check --mapping ${shown}`,
  );
}

interface CheckedMapping {
  readonly address: DatabaseAddress;
  readonly mapping: Mapping;
  readonly shown: string;
}

async function check(cli: Cli, command: Command, { address, mapping, shown }: CheckedMapping): Promise<void> {
  const found = await reached(() => checkDatabase(address, mapping, shown));
  const print = cli.printer(command);
  if (print.isJson) print.json(found);
  else for (const finding of found) cli.terminal.out(linesOf(finding));
  const errors = found.filter(({ level }) => level === 'error').length;
  if (errors > 0) throw new CliFailure(`the database cannot be connected yet: ${errors} things are missing`);
  if (!print.isJson) cli.terminal.say('The database can be connected.');
}

function linesOf({ level, message, sql }: Finding): string {
  return [`${level.padEnd('warning'.length)}  ${message}`, ...sql.map((statement) => `    ${statement};`), ''].join(
    '\n',
  );
}
