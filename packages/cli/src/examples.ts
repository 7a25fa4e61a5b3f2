import type { Command } from 'commander';

/** Examples come first: whoever asks for help most often wants to see how it is done. */
export function withExamples(command: Command, ...lines: readonly string[]): Command {
  return command.addHelpText('before', examples(...lines));
}

/** The same as text, for the middle of a chain. */
export function examples(...lines: readonly string[]): string {
  return `Examples:\n${lines.map((line) => `  $ ${line}`).join('\n')}\n`;
}

/** A command that only holds others together. */
export function commandGroup(
  program: Command,
  name: string,
  description: string,
  ...lines: readonly string[]
): Command {
  return withExamples(program.command(name).description(description).helpCommand(false), ...lines);
}
