import { readVersion } from '@tidemark/server/version';
import { Command } from 'commander';
import type { Cli } from './cli.ts';
import { addBackups } from './commands/backups.ts';
import { addClients } from './commands/clients.ts';
import { addCompletion } from './commands/completion.ts';
import { addConnectors } from './commands/connectors.ts';
import { addDevice } from './commands/device.ts';
import { addDocs } from './commands/docs.ts';
import { addExplain } from './commands/explain.ts';
import { addFiles } from './commands/files.ts';
import { addGroups } from './commands/groups.ts';
import { addInit } from './commands/init.ts';
import { addJobs } from './commands/jobs.ts';
import { addLogin } from './commands/login.ts';
import { addPing, addPings } from './commands/ping.ts';
import { addPush } from './commands/push.ts';
import { addReceipts } from './commands/receipts.ts';
import { addSchema } from './commands/schema.ts';
import { addReadState, addSources } from './commands/sources.ts';
import { addStats } from './commands/stats.ts';
import { addSystem } from './commands/system.ts';
import { addTail } from './commands/tail.ts';
import { addTokens } from './commands/tokens.ts';
import { addTypes } from './commands/types.ts';
import { addUsers } from './commands/users.ts';
import { addBench, addVersion } from './commands/version.ts';
import { DEFAULT_URL } from './credentials.ts';
import { withExamples } from './examples.ts';

type Add = (program: Command, cli: Cli) => void;

/** A command that needs the settings or the engines. Loading them takes longer than most commands run. */
interface Heavy {
  readonly name: string;
  readonly load: () => Promise<Add>;
}

const GROUPS: readonly (readonly [heading: string, commands: readonly (Add | Heavy)[]])[] = [
  [
    'Server:',
    [
      { name: 'serve', load: async () => (await import('./commands/serve.ts')).addServe },
      { name: 'dev', load: async () => (await import('./commands/serve.ts')).addDev },
      addInit,
      { name: 'connect', load: async () => (await import('./commands/connect.ts')).addConnect },
      { name: 'config', load: async () => (await import('./commands/config.ts')).addConfig },
    ],
  ],
  [
    'Users, sources and data:',
    [
      addLogin,
      addUsers,
      addGroups,
      addClients,
      addSources,
      addSchema,
      addDocs,
      addPush,
      addFiles,
      addReceipts,
      addExplain,
      addPing,
      addReadState,
      addTypes,
    ],
  ],
  ['Administration:', [addStats, addTail, addPings, addJobs, addConnectors, addTokens, addSystem, addBackups]],
  ['Device:', [addDevice]],
  [
    'Data folder:',
    [
      { name: 'backup', load: async () => (await import('./commands/backup.ts')).addBackup },
      { name: 'restore', load: async () => (await import('./commands/restore.ts')).addRestore },
      { name: 'migrate', load: async () => (await import('./commands/migrate.ts')).addMigrate },
      { name: 'verify', load: async () => (await import('./commands/verify.ts')).addVerify },
      { name: 'admin', load: async () => (await import('./commands/admin.ts')).addAdmin },
      { name: 'doctor', load: async () => (await import('./commands/doctor.ts')).addDoctor },
    ],
  ],
  ['This program:', [(program, cli) => addCompletion(program, cli, () => buildProgram(cli)), addBench, addVersion]],
];

/** Builds the program with all commands. With a command line, it loads heavy commands only if that line may name them. */
export async function buildProgram(cli: Cli, args: readonly string[] = []): Promise<Command> {
  const program = emptyProgram(cli);
  const wanted = commandIn(args);
  const left: Heavy[] = [];
  for (const [heading, commands] of GROUPS) {
    program.commandsGroup(heading);
    for (const one of commands) {
      if (typeof one === 'function') one(program, cli);
      else if (wanted === null || wanted === one.name) (await one.load())(program, cli);
      else left.push(one);
    }
  }
  // An unknown command is answered with the list of all commands.
  if (wanted !== null && program.commands.every((command) => command.name() !== wanted)) {
    for (const { load } of left) (await load())(program, cli);
  }
  return program;
}

/** Returns the first word that is neither an option nor an option's value; null if there is none or help is wanted. */
function commandIn(args: readonly string[]): string | null {
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? '';
    if (!arg.startsWith('-')) return arg;
    if (OPTIONS_WITH_VALUES.has(arg)) index++;
  }
  return null;
}

const OPTIONS_WITH_VALUES: ReadonlySet<string> = new Set(['--url', '--timeout']);

function emptyProgram(cli: Cli): Command {
  const program = new Command('tidemark')
    .description('Run a Tidemark server, and manage one')
    .version(readVersion(), '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .option('--url <url>', `the URL of the server; by default TIDEMARK_URL, or ${DEFAULT_URL}`)
    .option('--json', 'print JSON')
    .option('--timeout <seconds>', 'how long to wait for an answer (60)')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => cli.terminal.out(text),
      writeErr: (text) => cli.terminal.err(text),
    })
    .showHelpAfterError('(add --help to see how it is used)')
    .exitOverride();
  return withExamples(
    program,
    'tidemark serve',
    'tidemark login',
    'tidemark sources declare Product --partition-type app',
    'tidemark push objects Product products.json',
    'tidemark backup /backups/monday',
  );
}
