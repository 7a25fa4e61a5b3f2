import type { Command } from 'commander';

/** Puts examples first in the help, because they are what most readers look for. */
export function withExamples(command: Command, ...lines: readonly string[]): Command {
  return command.addHelpText('before', examples(...lines));
}

/** Returns the same as text, for use in a chain of calls. */
export function examples(...lines: readonly string[]): string {
  return `Examples:\n${lines.map((line) => `  $ ${line}`).join('\n')}\n`;
}

/** Adds a command that only groups others. */
export function commandGroup(
  program: Command,
  name: string,
  description: string,
  ...lines: readonly string[]
): Command {
  return withExamples(program.command(name).description(description).helpCommand(false), ...lines);
}
