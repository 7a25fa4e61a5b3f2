import { Argument, type Command } from 'commander';
import type { Cli } from '../cli.ts';
import { bashScript, fishScript, zshScript } from '../completion/completion-scripts.ts';
import { completionTable } from '../completion/completion-table.ts';
import { withExamples } from '../examples.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** `build` makes the program with all its commands. */
export function addCompletion(program: Command, cli: Cli, build: () => Promise<Command>): void {
  const command = program
    .command('completion')
    .description('Print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .action(async (shell: keyof typeof SCRIPTS) => {
      cli.terminal.out(SCRIPTS[shell](completionTable(await build())));
    });
  withExamples(
    command,
    'source <(tidemark completion bash)',
    'source <(tidemark completion zsh)',
    'tidemark completion fish > ~/.config/fish/completions/tidemark.fish',
  );
}
