import type { Cli } from './cli.ts';
import { usageFailure } from './cli-failure.ts';

export interface PasswordRequest {
  readonly question: string;
  /** `--password-stdin` was given. */
  readonly isFromInput: boolean;
  /** True: the user types the password twice, because it is not shown. */
  readonly isNew: boolean;
}

/**
 * A new password has its own variable, so that the login password of the environment is not given to a new user by
 * accident.
 */
const VARIABLES = { known: 'TIDEMARK_PASSWORD', new: 'TIDEMARK_NEW_PASSWORD' } as const;

/** Reads a password from the standard input, the environment or a prompt without echo, never from a flag. */
export async function readPassword({ terminal, env }: Cli, request: PasswordRequest): Promise<string> {
  const variable = request.isNew ? VARIABLES.new : VARIABLES.known;
  const given = request.isFromInput ? (await terminal.readInput()).replace(/\r?\n$/, '') : env[variable];
  if (given) return given;
  if (request.isFromInput) throw usageFailure('the standard input holds no password');
  if (!terminal.isInteractive) {
    throw usageFailure('there is nobody to ask for the password', `use --password-stdin or set ${variable}`);
  }
  const password = await terminal.askSecret(request.question);
  if (password === '') throw usageFailure('the password is empty');
  if (request.isNew && (await terminal.askSecret('Once more: ')) !== password) {
    throw usageFailure('the two passwords differ; nothing was done');
  }
  return password;
}
