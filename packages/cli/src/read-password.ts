import type { Cli } from './cli.ts';
import { usageFailure } from './cli-failure.ts';

export interface PasswordWish {
  readonly question: string;
  /** `--password-stdin` was given. */
  readonly isFromInput: boolean;
  /** A new password is asked for twice, since nobody sees what is typed. */
  readonly isNew: boolean;
}

/**
 * Whoever keeps the password for logging in in the environment must not give it to a new user by accident: a new one has
 * a variable of its own.
 */
const VARIABLES = { known: 'TIDEMARK_PASSWORD', new: 'TIDEMARK_NEW_PASSWORD' } as const;

/** A password from the standard input, the environment, or a question without echo; never from a flag. */
export async function readPassword({ terminal, env }: Cli, wish: PasswordWish): Promise<string> {
  const variable = wish.isNew ? VARIABLES.new : VARIABLES.known;
  const given = wish.isFromInput ? (await terminal.readInput()).replace(/\r?\n$/, '') : env[variable];
  if (given) return given;
  if (wish.isFromInput) throw usageFailure('the standard input holds no password');
  if (!terminal.isInteractive) {
    throw usageFailure('there is nobody to ask for the password', `use --password-stdin or set ${variable}`);
  }
  const password = await terminal.askSecret(wish.question);
  if (password === '') throw usageFailure('the password is empty');
  if (wish.isNew && (await terminal.askSecret('Once more: ')) !== password) {
    throw usageFailure('the two passwords differ; nothing was done');
  }
  return password;
}
