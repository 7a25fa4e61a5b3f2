import { chaosCommand } from './chaos/run-chaos.ts';
import { crashJobsCommand } from './crash/jobs/run-jobs-crashes.ts';
import { crashStoreCommand } from './crash/store/run-crashes.ts';
import { crashUploadsCommand } from './crash/uploads/run-uploads-crashes.ts';
import { httpCommand } from './devices/run-history.ts';
import { filesCommand } from './files/simulate.ts';
import { goldenCommand } from './golden/make-golden.ts';
import { groupsCommand } from './groups/simulate.ts';
import { historiesCommand } from './histories/simulate.ts';
import { photosCommand } from './photos/run-photos.ts';
import { plantedCommand } from './planted/planted-seeds.ts';
import { postgresCommand } from './postgres/simulate.ts';
import { type Command, helpOf, OptionValues, UsageError } from './runner/command.ts';
import { sdkCommand } from './sdk/simulate.ts';
import { serversCommand } from './servers/run-servers.ts';
import { tornSocketsCommand } from './torn-sockets/run-torn-sockets.ts';
import { uploadsCommand } from './uploads/simulate.ts';

const EXIT_USAGE = 64;
const HELP = ['--help', '-h'];

const COMMANDS: readonly Command[] = [
  historiesCommand,
  groupsCommand,
  uploadsCommand,
  httpCommand,
  sdkCommand,
  filesCommand,
  postgresCommand,
  crashStoreCommand,
  crashJobsCommand,
  crashUploadsCommand,
  serversCommand,
  tornSocketsCommand,
  photosCommand,
  chaosCommand,
  plantedCommand,
  goldenCommand,
];

// An exit kills the servers and workers that were started; a signal alone would leave them running.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

process.exitCode = await main(process.argv.slice(2));

/** Without a command, `npm run sim` runs the histories. Returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const [first = ''] = args;
  if (HELP.includes(first)) return print(overview());
  const isCommand = first !== '' && !first.startsWith('-');
  const command = isCommand ? COMMANDS.find(({ name }) => name === first) : historiesCommand;
  if (command === undefined) return complain(`there is no command ${first}\n\n${overview()}`);
  const rest = isCommand ? args.slice(1) : args;
  if (rest.some((arg) => HELP.includes(arg))) return print(helpOf(command));
  try {
    return await command.run(new OptionValues(rest, command.options));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return complain(`${error.message}\n\n${helpOf(command)}`);
  }
}

function overview(): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  const lines = COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return `usage: npm run sim -- <command> [options]\n\n${lines.join('\n')}\n\nnpm run sim -- <command> --help lists its options.\n`;
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

function complain(text: string): number {
  process.stderr.write(text);
  return EXIT_USAGE;
}
