import { ConfigProblem } from '@tidemark/server/config/config-problem';
import type { Environment } from '@tidemark/server/config/read-environment';
import { CommanderError } from 'commander';
import { Cli } from './cli.ts';
import { CliFailure, EXIT, type ExitCode } from './cli-failure.ts';
import { permissionFailure } from './local/ownership.ts';
import { printable } from './printer.ts';
import { buildProgram } from './program.ts';
import { type Streams, Terminal } from './terminal.ts';

export interface Surroundings extends Streams {
  readonly env: Environment;
  /** The working folder. */
  readonly folder: string;
}

/** Runs one command line and returns its exit code. Errors are printed to the terminal. */
export async function run(args: readonly string[], surroundings: Surroundings): Promise<ExitCode> {
  const terminal = new Terminal(surroundings, surroundings.env);
  const program = await buildProgram(new Cli(terminal, surroundings.env, surroundings.folder), args);
  try {
    await program.parseAsync(args, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    // Commander has printed the message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const failure = failureOf(error);
    if (args.includes('--json')) terminal.say(JSON.stringify(failure, null, 2));
    else for (const line of failure.lines()) terminal.say(printable(line));
    return failure.exitCode;
  }
}

function failureOf(error: unknown): CliFailure {
  if (error instanceof CliFailure) return error;
  if (error instanceof ConfigProblem) return new CliFailure(error.message, { exitCode: EXIT.config });
  const denied = permissionFailure(error);
  if (denied !== null) return denied;
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new CliFailure(`internal error: ${detail}`, { hint: 'report it with these lines' });
}
