import { parseArgs } from 'node:util';
import { errorMessage } from '@tidemark/protocol';

/** A sub-command of `npm run sim`. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly Option[];
  /** Returns the exit code. */
  run(values: OptionValues): Promise<number>;
}

export interface Option {
  readonly name: string;
  /** How the help names the value; absent: the option is a switch. */
  readonly value?: string;
  readonly help: string;
}

/** The command line is wrong; the message says how. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The options as given on the command line. Every getter throws a `UsageError` for a wrong value. */
export class OptionValues {
  readonly #values: Readonly<Record<string, string | boolean | undefined>>;

  constructor(args: readonly string[], options: readonly Option[]) {
    const types = options.map(({ name, value }) => {
      return [name, { type: value === undefined ? ('boolean' as const) : ('string' as const) }] as const;
    });
    try {
      this.#values = parseArgs({ args: [...args], options: Object.fromEntries(types) }).values;
    } catch (error) {
      throw new UsageError(errorMessage(error));
    }
  }

  has(name: string): boolean {
    return this.#values[name] === true;
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === 'string' ? value : undefined;
  }

  /** Returns a whole number of at least `least`. */
  number(name: string, least = 0): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const number = Number(text);
    if (Number.isSafeInteger(number) && number >= least) return number;
    throw new UsageError(`--${name}: expected a whole number of at least ${least}, got ${text}`);
  }

  /** Returns one of the choices; the first is the default. */
  choice<const T extends string>(name: string, choices: readonly [T, ...T[]]): T {
    const text = this.text(name) ?? choices[0];
    const choice = choices.find((known) => known === text);
    if (choice !== undefined) return choice;
    throw new UsageError(`--${name}: expected ${choices.join(', ')}, got ${text}`);
  }
}

export function helpOf({ name, summary, options }: Command): string {
  const flags = options.map((option) => `--${option.name}${option.value === undefined ? '' : ` ${option.value}`}`);
  const width = Math.max(0, ...flags.map(({ length }) => length));
  const lines = options.map(({ help }, index) => `  ${(flags[index] ?? '').padEnd(width)}  ${help}`);
  const usage = ['usage: npm run sim --', name, ...flags.map((flag) => `[${flag}]`)].join(' ');
  return `${summary}\n\n${usage}\n\n${lines.join('\n')}\n`;
}
