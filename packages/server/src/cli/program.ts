import { Command } from 'commander';
import { readVersion } from '../version.ts';
import type { Cli } from './cli.ts';
import { addBackup } from './commands/backup.ts';
import { addClients } from './commands/clients.ts';
import { addConfig } from './commands/config.ts';
import { addDevice } from './commands/device.ts';
import { addDocs } from './commands/docs.ts';
import { addDoctor } from './commands/doctor.ts';
import { addInit } from './commands/init.ts';
import { addJobs } from './commands/jobs.ts';
import { addLogin } from './commands/login.ts';
import { addMigrate } from './commands/migrate.ts';
import { addPing } from './commands/ping.ts';
import { addPings } from './commands/pings.ts';
import { addPush } from './commands/push.ts';
import { addReadState } from './commands/read-state.ts';
import { addRestore } from './commands/restore.ts';
import { addDev, addServe } from './commands/serve.ts';
import { addSources } from './commands/sources.ts';
import { addStats } from './commands/stats.ts';
import { addSystem } from './commands/system.ts';
import { addTokens } from './commands/tokens.ts';
import { addUsers } from './commands/users.ts';
import { addVerify } from './commands/verify.ts';
import { addBench, addVersion } from './commands/version.ts';
import { withExamples } from './examples.ts';
import { DEFAULT_URL } from './server-url.ts';

type Add = (program: Command, cli: Cli) => void;

const GROUPS: readonly (readonly [heading: string, commands: readonly Add[]])[] = [
  ['The server:', [addServe, addDev, addInit, addConfig]],
  ['Speaking to a server:', [addLogin, addUsers, addClients, addSources, addDocs, addPush, addPing, addReadState]],
  ['Looking after a server:', [addStats, addPings, addJobs, addTokens, addSystem]],
  ['Being a device:', [addDevice]],
  ['On the data:', [addBackup, addRestore, addMigrate, addVerify, addDoctor]],
  ['This program:', [addBench, addVersion]],
];

/** All commands there are. */
export function buildProgram(cli: Cli): Command {
  const program = new Command('tidemark')
    .description('Runs a Tidemark server, and speaks to one')
    .version(readVersion(), '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .option('--url <url>', `the server to speak to; TIDEMARK_URL, or ${DEFAULT_URL}`)
    .option('--json', 'answers as JSON')
    .option('--timeout <seconds>', 'how long to wait for an answer (60)')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => cli.terminal.out(text),
      writeErr: (text) => cli.terminal.err(text),
    })
    .showHelpAfterError('(add --help to see how it is used)')
    .exitOverride();
  for (const [heading, commands] of GROUPS) {
    program.commandsGroup(heading);
    for (const add of commands) add(program, cli);
  }
  return withExamples(
    program,
    'tidemark serve',
    'tidemark login',
    'tidemark sources declare Product --partition-type app',
    'tidemark push objects Product products.json',
    'tidemark backup /backups/monday',
  );
}
