import type { Command, Option } from 'commander';

export interface CompletedOption {
  /** Such as `--json` and `-h`. */
  readonly flags: readonly string[];
  readonly description: string;
  readonly takesValue: boolean;
  /** The values that it takes; empty: any. */
  readonly choices: readonly string[];
}

/** What can be typed after a command. */
export interface CompletedCommand {
  /** The names from below the program on, each after a `/`; the program itself is the empty text. */
  readonly at: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly CompletedOption[];
  /** The values of its first argument, if they are known. */
  readonly choices: readonly string[];
}

/** Lists what can be typed after each command of the program, the program itself first. */
export function completionTable(program: Command): readonly CompletedCommand[] {
  const help = program.createHelp();
  const globals = program.options.map(completedOption);
  const visit = (command: Command, at: string): readonly CompletedCommand[] => {
    const commands = help.visibleCommands(command);
    const own = help.visibleOptions(command).map(completedOption);
    const isOwn = ({ flags }: CompletedOption) => own.some((option) => option.flags[0] === flags[0]);
    const here: CompletedCommand = {
      at,
      commands: commands.map((one) => ({ name: one.name(), description: one.description() })),
      options: [...own, ...globals.filter((option) => !isOwn(option))],
      choices: (command.registeredArguments[0]?.argChoices ?? []).filter(isPlain),
    };
    return [here, ...commands.flatMap((one) => visit(one, `${at}/${one.name()}`))];
  };
  return visit(program, '');
}

function completedOption({ short, long, description, required, optional, argChoices }: Option): CompletedOption {
  return {
    flags: [long, short].filter((flag) => flag !== undefined && flag !== null),
    description,
    takesValue: required || optional,
    choices: (argChoices ?? []).filter(isPlain),
  };
}

/** Shells would have to quote anything else. */
function isPlain(choice: string): boolean {
  return /^[\w.:-]+$/.test(choice);
}

/** The flags after which the next word is a value, and no command. */
export function flagsWithValue(table: readonly CompletedCommand[]): readonly string[] {
  const flags = table.flatMap(({ options }) => options.filter(({ takesValue }) => takesValue));
  return [...new Set(flags.flatMap((option) => option.flags))].sort();
}

/** Every command but the program, as the scripts name it. */
export function placesOf(table: readonly CompletedCommand[]): readonly string[] {
  return table.map(({ at }) => at).filter((at) => at !== '');
}
